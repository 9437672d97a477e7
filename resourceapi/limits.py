"""The limits of the DRA API (Go constants of ``k8s.io/api/resource/v1``), each stated once.

Sizes of texts are in bytes unless their name says characters; the others count entries.
"""

# ResourceClaim and ResourceClaimTemplate
REQUESTS = 32
CONSTRAINTS = 32
CONFIGS = 32
SUBREQUESTS = 8
SELECTORS = 32
DERIVED_ATTRIBUTES = 32
CEL_EXPRESSION_BYTES = 10 * 1024
CEL_EXPRESSION_COST = 1_000_000
DERIVED_ATTRIBUTES_COST = 1_000_000
# What kube-apiserver sends to etcd at most, whatever etcd would take: asked of 1.37, which refuses an object with more.
STORED_OBJECT_BYTES = 2 * 1024 * 1024
# Of all expressions of a claim that the rules take; far more than fits into a request.
CLAIM_EXPRESSIONS_BYTES = REQUESTS * SUBREQUESTS * SELECTORS * CEL_EXPRESSION_BYTES
OPAQUE_PARAMETERS_BYTES = 10 * 1024
DRIVER_NAME_CHARACTERS = 63

# status of a ResourceClaim
RESERVED_FOR = 256
ALLOCATION_RESULTS = 32
ALLOCATION_CONFIGS = 2 * CONFIGS  # those of the classes and those of the claim
DEVICE_STATUS_CONDITIONS = 8
DEVICE_STATUS_DATA_BYTES = 10 * 1024
NETWORK_IPS = 16
NETWORK_INTERFACE_NAME_BYTES = 256
NETWORK_HARDWARE_ADDRESS_BYTES = 128

# ResourceSlice
DEVICES = 128
DEVICES_WITH_ADVANCED_FEATURES = 64  # any device with taints, counters or list attributes
SHARED_COUNTER_SETS = 8
COUNTERS_PER_SET = 32
COUNTER_SETS_PER_DEVICE = 2
COUNTERS_PER_CONSUMPTION = 32
COMPATIBILITY_GROUPS = 2
ATTRIBUTES_AND_CAPACITIES = 32  # of a device in a slice, and of a patch
ATTRIBUTE_VALUES = 48
ATTRIBUTE_VALUE_BYTES = 64
DOMAIN_BYTES = 63
IDENTIFIER_BYTES = 32
TAINTS = 16
BINDING_CONDITIONS = 4
BINDING_FAILURE_CONDITIONS = 4
CAPACITY_VALID_VALUES = 10

# ResourceSlice up to 1.34
FORMER_TAINTS = 4
FORMER_COUNTERS_PER_DEVICE = 32
FORMER_CONSUMED_COUNTERS = 1024  # of all devices
FORMER_SHARED_COUNTERS = 32  # of all sets

# ResourceSlicePatch
# What the selectors of a patch and its class may take on a device together: so many units of CEL's cost, so many steps of what that does not
# count, so many characters. Some 10 ms; it has to be little, since each patch is compared with each kind of device, while those who ask
# wait. One that looks through all values of a list attribute, for each of them, takes 14,000; others some dozens. KEP-5027 has no such limit.
PATCH_SELECTOR_STEPS = 25_000

# DeviceTaintRule
TAINT_RULE_CONDITIONS = 8

# ResourcePoolStatusRequest
POOLS_REPORTED = 1000
POOL_STATUS_REQUEST_CONDITIONS = 10
POOL_VALIDATION_ERROR_BYTES = 256
PARTITION_TYPES_REPORTED = 32
SHAREABLE_CAPACITIES_REPORTED = 32

# v1alpha2
CLASSIC_RESERVED_FOR = 32
CLASSIC_RESOURCE_HANDLES = 32
CLASSIC_RESOURCE_HANDLE_DATA_BYTES = 16 * 1024
CLASSIC_NODES_PER_LIST = 128  # of potential and of unsuitable nodes
