/// A self-signed certificate of `server.example` for TLS servers, valid in the years 2026 to 2125, and its key.
package enum SelfSignedCertificate {
    package static let certificatePEM = """
        -----BEGIN CERTIFICATE-----
        MIIBVTCB+6ADAgECAgEBMAoGCCqGSM49BAMCMBkxFzAVBgNVBAMMDnNlcnZlci5l
        eGFtcGxlMCAXDTI2MDEwMTAwMDAwMFoYDzIxMjYwMTAxMDAwMDAwWjAZMRcwFQYD
        VQQDDA5zZXJ2ZXIuZXhhbXBsZTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABBdk
        kYjVhSDECPaeXD6bsv/wpBZVdvVL+Lb5qyH2MAQKIc4J6Ez3c4QyyAqFYmq9//TK
        ykCu0udEtbY1/DuARJijMjAwMBMGA1UdJQQMMAoGCCsGAQUFBwMBMBkGA1UdEQQS
        MBCCDnNlcnZlci5leGFtcGxlMAoGCCqGSM49BAMCA0kAMEYCIQDrRxVdTxW3iYQe
        6P1t4rHNui15IPWClmyflbnijzmQSgIhAJA/8fl0mMbLEmOWn2PmRVmwCu6ZQdGy
        q227k/fxv9M3
        -----END CERTIFICATE-----

        """
    package static let privateKeyPEM = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQghmQTGtkntdixIsUU
        KXQAbd2OUbwNYu7vi2328qEy4sqhRANCAAQXZJGI1YUgxAj2nlw+m7L/8KQWVXb1
        S/i2+ash9jAECiHOCehM93OEMsgKhWJqvf/0yspArtLnRLW2Nfw7gESY
        -----END PRIVATE KEY-----

        """
}
