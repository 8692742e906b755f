// The decoder SDK: what is public in these three.
@_exported public import Core
@_exported public import Decoding
@_exported public import Settings
