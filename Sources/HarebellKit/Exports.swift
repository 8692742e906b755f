// The decoder SDK: the public API of these three modules.
@_exported public import Core
@_exported public import Decoding
@_exported public import Settings
