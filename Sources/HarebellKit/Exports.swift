// What a decoder is made of lies in these two; of both only that is public.
@_exported public import Bridge
@_exported public import Core
