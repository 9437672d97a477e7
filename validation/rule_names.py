"""Names of what can be wrong with an object besides the server's causes, which keep the server's own reasons.

They are stable: reports carry them, and people filter by them.
"""

MALFORMED = "MalformedDocument"  # no YAML or JSON that kubectl can read
UNKNOWN_FIELD = "UnknownField"
DUPLICATE_FIELD = "DuplicateField"
WRONG_TYPE = "WrongType"
NOT_SERVED = "NotServed"  # the release does not serve the version or kind
REFUSED = "Refused"  # any other answer without causes
SERVER_WARNING = "ServerWarning"
NAMESPACE_MISMATCH = "NamespaceMismatch"  # the object names another namespace than the command
NAMESPACE_NOT_FOUND = "NamespaceNotFound"  # the live cluster has no such namespace
FIELD_CONFLICT = "FieldManagerConflict"  # server-side apply of fields that others manage
PATCH_REFUSED = "PatchRefused"  # a patch that does not fit the object
OBJECT_NOT_FOUND = "ObjectNotFound"  # there is nothing to patch
GENERATED_NAME = "GeneratedName"  # `kubectl apply` takes no generateName
UPDATE_REFUSED = "UpdateRefused"  # a stored object that would be accepted as a new one cannot be updated
SKIPPED_FILE = "SkippedFile"  # a file that looks like a manifest is not read
