/// Keys of kinds that ES256 cannot use, made for these tests.
enum Keys {
    /// By OpenSSL's name for their kind.
    static let unsuitable = ["RSA": rsa, "EC secp384r1": p384, "ED25519": ed25519]

    static let rsa = """
        -----BEGIN PRIVATE KEY-----
        MIIBVQIBADANBgkqhkiG9w0BAQEFAASCAT8wggE7AgEAAkEAvq4GdLrI50TR0o61
        a6y5NHLG79KBNaWsAYyDuD7JaODX9SzZN9UWlFFFa+3WjbmQVVESD0X05hYstyvU
        JY8qGwIDAQABAkB56S/NgAKlAnYYZg+OGS+MXfndKTxdPWA82Ub6DIKfX08yDtdi
        TiOqMrniRBiycNmiXo4KmglC+hLDAUtKu4apAiEA6G3G3of1M5NZvjcoquIH3DwE
        6orZDzHiSP1WZRd6jo0CIQDSBGB9doOZzuiCmXm6nujRb5txWF/ZEbC6utEpTqRl
        RwIhAKPKEDVq67D/qmMv7ZmWFOHu7av2UoWxqnuzAvnUNMpVAiA13LmCc+q8f7xS
        Alqd6jN7w0vyfd/XJBpXSaJrHag78QIhAJl8HQXWNeWMtzZmMWdHEmghKsy5kVDs
        2Xp43nQXWXxj
        -----END PRIVATE KEY-----
        """

    static let p384 = """
        -----BEGIN PRIVATE KEY-----
        MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDB6YoUr8Dg9AL7ER9Sx
        ZRqUFrP3vL7hsVpYaGgu3XnD3+Vt7tUzWrGQdYk2DvwvTuihZANiAATsDeNMHrcu
        wdeXpYJmUVM78hXz4xVQoqns3N8K8hCdFkodyzP6j6y2/5HiOxKp6p7XCSU9RboJ
        OJy3gYA6E/ZzJWGiMjPl4HQ+rFS7LwdEdZrJafz4hkg+9JQ3nHIUPqQ=
        -----END PRIVATE KEY-----
        """

    static let ed25519 = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEIPU+No85nkbrJjNtjmyQRnRHExYraPJjAHQh8Yfn0Cmg
        -----END PRIVATE KEY-----
        """

    /// P-256, with the passphrase `abc`.
    static let encrypted = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgMBj4PbNiMzgICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEBDPLJ7+TEeGRGbRbU+5EUAEgZCX
        hCS8sdkqbdmUJ2ZXKWgp2lxIqPDXZThN4K3PbUNUDN2ZhifdsTtV920TOWHVSc69
        J7UWta4JpTIoprApwLDtrP5AocGb4Et2DxFwKrOSEJTnJCqzW668NG1L195ukqNg
        QNcGETUN0NLUCkW3+yTCfNj+Enuj0z0NpCsO1U7jtl+cUTbWGN2TeEBpDB9Exv8=
        -----END ENCRYPTED PRIVATE KEY-----
        """
}
