// What a decoder is made of lies in these two; of both only that is public, and what the
// compiler has to inline across modules.
@_exported public import Bridge
@_exported public import Core
