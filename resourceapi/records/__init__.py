"""What the product reasons about, as records: pools and their slices, pods, claims with what they hold.

A record is made from a decoded object in one place, here, and is the same whether a watch, a file or the webhook has the
object; ``cluster.store`` keeps it in place of the object. Records have slots and are never changed: a change is another
record, and `==` says whether it is one. A fact about a pod is a field of :class:`~resourceapi.records.pods.Pod`, and nobody
else reads it from JSON. A record of an object with mistakes has what can be read of it: a field of the wrong type counts
as absent, as in `resourceapi.manifests`. It has no answers that depend on a release, on gates or on other objects: these
are functions of the packages above, on records. What is written to an API server, shown to users or compared text for text
stays JSON (``Object``): a record keeps the part that its readers pass on, and no copy of the whole. Readers are ported one
at a time, and take their own models with them when they are.
"""
