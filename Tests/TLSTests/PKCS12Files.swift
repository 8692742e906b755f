import Core
import TLS

/// One certificate with its key as PKCS #12 files with the password `secret`, in base64url.
enum PKCS12Files {
    /// As written by OpenSSL 3 (AES-256, SHA-256).
    static let modern = decoded(
        """
        MIIEiQIBAzCCBEAGCSqGSIb3DQEHAaCCBDEEggQtMIIEKTCCAuEGCSqGSIb3DQEHBqCCAtIwggLOAgEAMIICxwYJKoZIhvcNAQcB
        MFYGCSqGSIb3DQEFDTBJMCgGCSqGSIb3DQEFDDAbBAjejjCHr_UbXQIBZDAMBggqhkiG9w0CCQUAMB0GCWCGSAFlAwQBKgQQ44gy
        NgArkRU9QzZjfquqbICCAmAc4NkDzSZNULgfVFpGkxmaIVmw7mCiB0Qa3wzVHYtZ2PY5zVpXI4n0OZ6Gqc_tuYfpq7OluSvc4Wsw
        q66aCSR3W7bvDxMZir2ZF3b4eIBK5-ZSRRQfggy6Ezppl6auGC5-
        mRiAAqPuKQCcwo9bXbW2dXifrqvms_TbA7P2ZZXZm5t4_iulUZ5Xwq9RrSXHl0lx4C6wwX6S--
        IAMoA1jWmrY5bgjHJLhQoufG-5DY0UbPTKyoWH5cWKaoRcnUuyhNabCJWEQu-_0i_A0yb97EzrOXE-
        Mp-T1QZIei3XbdEBWchgbsweEFC3NecKLQkI-vVtENySsYlL6tTgBMea5YDmwcAt0p5jXCp6hRPK2x10qs73fskNFAHLtGnkpMwZ
        24SnrNGrMKGvNcApNS4vjfZJrPEAx2SPfLZ8qFI32yjxoxjQHoYEcpRZjBgLGrlS5cvCrGk0rbg3tClPVE9P_kpH7n5PMSPx5lli
        5vHYnUVPaOW5qGQrXho56e-4P-7OMx3oEhm-yku8CDKTstfxnRsFn4l4TXj6RnlOyU5EJ6vab6rvSQADy527dBSu7zZ98pkXQJP6
        i98RcT7ol2pAVBbk7lnjb_3MxUwGF9iDspEmPRnm-bZfiovjHNf5KCHcLWhEzUP9TBlI5uXHUgFPIOREpoxPkEZpGSVdfvuaF_6I
        vg0cYI_mcBQthmD5nyiLvbC0Nnf2aqDGrhr8I9dEq3T8aPR_KtU2eMEtioe_aOU1YZM026siCL8l7QdtqvZWXImqAvrDf8qkOzrk
        brI7BY5XvAYZQxTBrca2Rge2B_ovmjCCAUAGCSqGSIb3DQEHAaCCATEEggEtMIIBKTCCASUGCyqGSIb3DQEMCgECoIHuMIHrMFYG
        CSqGSIb3DQEFDTBJMCgGCSqGSIb3DQEFDDAbBAg4UYw2-
        WFClwIBZDAMBggqhkiG9w0CCQUAMB0GCWCGSAFlAwQBKgQQq5EA6GrpM4QH68gHKi2lUQSBkI57IbGM7P8kvd1WJ-
        O8qHaZXYN4sBWOdZ8OvmPw9pz6nLHuWi7rlnpyOf_P0QX4D9uLJ-gBIH47BI7bZCz8buLsE_KoMrBLzh27W6n-
        y3zloBQwl6KW3md37n0H2z9MySn2pSpPN4LzI2Q7Dskb0qUoFW8a6tc0QXtMmeajg1rE17bI1PXYEDYR9lkj1vtXvzElMCMGCSqG
        SIb3DQEJFTEWBBSzN38gRF2UXFR3JjjERTJVYfjM8jBAMDEwDQYJYIZIAWUDBAIBBQAEIKYKgNW0C0JKnGbntQRFpSKB4ad7HqTs
        7G_d5BD4_dNPBAi8qcz2AzuKHQIBZA
        """)

    /// As written by older programs (RC2 with 40 bits, triple DES, SHA-1).
    static let legacy = decoded(
        """
        MIID_wIBAzCCA8YGCSqGSIb3DQEHAaCCA7cEggOzMIIDrzCCAqYGCSqGSIb3DQEHBqCCApcwggKTAgEAMIICjAYJKoZIhvcNAQcB
        MBsGCiqGSIb3DQEMAQYwDQQIz47RpwaDHdMCAWSAggJgcxv91JOLBqFrBX4EihwYscPluYHjFUIpqD5N4j-
        RJuR7qZtaNsClTJuaB4nOfQgBZF0x9JBHPqLVQiteMMRd7PikeFvNBvVITjrD66C6G6Ozr0ZZ8FJe2Cdsss339LCbT8AVUVzlixq
        FuXYPkY4bZLlfI48BJrL0DZXXtRE5luww8FtqPvsQD7rsm6A2UteH4Y4t-
        0fPZELl3qLnFLTGL_1iyXPTZf4WUAtMr6dqrN64IFLdXQJFo5NiPkys-RupoZhwquavOgYqQtrp6yOKFxUELdRy6USm3M1S5EYbE
        yTMf34n1lGKlf0mnp_2o0y2lLU2igRGCdM9O9VLqnVBcyjajM3i02h_C_6UJY0kOaZks0Ej7--geqp4QyHbWQ5FEWdoH6ukckKaP
        P2IzJPDQX1r3APnO42c2oGWS3U_VS1fjm5KAFjHy4Q4Pro1Vs8rx5K_KooZC_87NNPGpGxRRryH0Yyfp4JtQjZqM1cMePdI9P3WR
        2-wA_70HlN-ShavJGuYIUCn2exhAO2tHxVDDhLd1cZDttaNFR5J9zypTDgcOFFaTxBxGpkqdxXwFqpPNVpVQCfzPymTjrW2g0_hn
        HirDzmuSbGiKdznvPVUu9B-rTCD7ZHRZIb9VH4jqpbbn7q68eTN2lY9vaFaGD2K8oh4_uwaruDTOKbL79km-CPjmSww1EGlqEQKQ
        Tn66Kvo5W4HCZMthAgjqfBTMf3e1vADJfV0gVVIwZxPg5ibp6yk0gozXAmDyPuilyRYcpwFteZtPiAmPmxIyQVwQEQX0M3XpcObX
        aV4gPsaK3e1wqIwggEBBgkqhkiG9w0BBwGggfMEgfAwge0wgeoGCyqGSIb3DQEMCgECoIGzMIGwMBsGCiqGSIb3DQEMAQMwDQQIw
        AafMX78jt0CAWQEgZAmqL4F4WtzHg1KYMGdhs-lNITWUQ1VV7M0IUhhDNlnxr89nxn5gq4wl1H2rfielIwiKeGzoPxW6uoG0VDvZ
        JBdDx4rOyQW713ldqwkrmNJ6FF4i0Tf2TIVBsKgkJtQjIyqgGvIgSI4Pg95iWuDOl1uw3eUaC6dvLFutMBzpB4wBuUu9YqWWLX-
        rwU32J9KtLMxJTAjBgkqhkiG9w0BCRUxFgQUszd_IERdlFxUdyY4xEUyVWH4zPIwMDAhMAkGBSsOAwIaBQAEFHaLIsu-
        tyJ4rEOGLyW0BuAXJQ-zBAiGXZiV4nwllgIBZA
        """)

    private static func decoded(_ text: String) -> [UInt8] {
        Base64.url.decode(String(text.filter { !$0.isNewline }))!
    }
}
