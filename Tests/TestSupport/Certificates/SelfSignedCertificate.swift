/// A self-signed certificate of `server.example` for TLS servers, valid in the years 2026 to 2125, and its key.
package enum SelfSignedCertificate {
    package static let certificatePEM = """
        -----BEGIN CERTIFICATE-----
        MIIBVTCB+6ADAgECAgEBMAoGCCqGSM49BAMCMBkxFzAVBgNVBAMMDnNlcnZlci5leGFtcGxlMCAXDTI2MDEwMTAwMDAwMFoYDzIxMjYw
        MTAxMDAwMDAwWjAZMRcwFQYDVQQDDA5zZXJ2ZXIuZXhhbXBsZTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABBdkkYjVhSDECPaeXD6b
        sv/wpBZVdvVL+Lb5qyH2MAQKIc4J6Ez3c4QyyAqFYmq9//TKykCu0udEtbY1/DuARJijMjAwMBMGA1UdJQQMMAoGCCsGAQUFBwMBMBkG
        A1UdEQQSMBCCDnNlcnZlci5leGFtcGxlMAoGCCqGSM49BAMCA0kAMEYCIQDrRxVdTxW3iYQe6P1t4rHNui15IPWClmyflbnijzmQSgIh
        AJA/8fl0mMbLEmOWn2PmRVmwCu6ZQdGyq227k/fxv9M3
        -----END CERTIFICATE-----

        """
    package static let privateKeyPEM = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQghmQTGtkntdixIsUUKXQAbd2OUbwNYu7vi2328qEy4sqhRANCAAQXZJGI
        1YUgxAj2nlw+m7L/8KQWVXb1S/i2+ash9jAECiHOCehM93OEMsgKhWJqvf/0yspArtLnRLW2Nfw7gESY
        -----END PRIVATE KEY-----

        """
}
