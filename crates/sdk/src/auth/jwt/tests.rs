//! Keys for tests, which protect nothing. RSA, P-384 and Ed25519 were made with `openssl genpkey`.

use super::{Algorithm, SigningKey};

/// A fresh key.
pub(super) fn es256() -> SigningKey {
    SigningKey::generate_es256().expect("a key")
}

/// The RSA key, for one of its algorithms.
pub(super) fn rsa(algorithm: Algorithm) -> SigningKey {
    SigningKey::from_pkcs8_pem(RSA, algorithm).expect("a key")
}

/// A key for any algorithm.
pub(super) fn key(algorithm: Algorithm) -> SigningKey {
    match algorithm {
        Algorithm::Es256 => es256(),
        Algorithm::Es384 => SigningKey::from_pkcs8_pem(P384, algorithm).expect("a key"),
        Algorithm::EdDsa => SigningKey::from_pkcs8_pem(ED25519, algorithm).expect("a key"),
        _ => rsa(algorithm),
    }
}

pub(super) const RSA: &str = "\
-----BEGIN PRIVATE KEY-----
MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQCHQapADzNiwQkL
9uRzAf+OTAUW+85QFfeK3zRHpLoD8GKz5SuB9jGySlqGnEKxnpOt3zRGCWHUcKlh
r0CUH4m44tjXA16tLcUNGMlH/a6G8gbUDlqUCV9D3LL7p5wqHDY7+0PaafFkNDNS
0DnN8L+DIIvAfdElxhcgg8N9GrGMMIlqLNv3+j43cgsFtD9LlmWmo6sEgvQxYvaW
/W4ulPqD0/yp5FXroQopgdgVwML+0rYmLsXVW5Qitk0Xb8T4dCs9/w824JlqZ07b
zk9VSYOwauXiyf0sUC6/gd3Shru9DQRgCVvyxxQRBRPWg7bTd55tjwhK5/v0zsnS
2J20rdUfAgMBAAECggEAPgEcxoQRZu6eMpVqkcxzNmzkEm653B3N3qRHB6bcvWyI
GvbuVIQjsRuD11yv+FP9WEJP6OFpLyW8iHL6NE0m6hJYHG1HjDVEtaXMtAt35BX0
imbQIDgRq37zsAjcvrMzK5kauHhDuE9zzb12GlIIwVh8qHAlHl9qf7XXurSvetek
s0XTe7P1Os2beqClO7Hg1d7bXsx2iUJueOIljNkO5LMRW80KtDizXutdh4rS7fRT
c5PDAmbu832lCE6Z1GvnLSqq5AH3ey0a5OofZEGaomIXngErVoSZ0lDipsYluEQB
01p/ZVaiKgpqdvfUcE8HJCt9wN4BHFnxm/xe5xQ3aQKBgQC6XKFjwNZIQH5vSLdL
yVI6kh4vEvt62HLpwVqBNUJMNwxEp3i0DbWmUX1gp4aJpwqGB0qAlAHz5F4sLu4P
yX3yiO1T0KkKTqxK1/O9odQ0rmWseORiPvWosrlCjsiBQ0IAh3+pxjMghtSQqtGn
0IrPuT/U6xBi4na4QldNem4lyQKBgQC5zEyoxrToT9OoExmbwtzkzjerJOQMHXc/
CqybJ9EXflNhoifRa5Ky2WvgpxSlj6s9HsiJy++O3ZrScXaVGyTv20qb69pNH/o9
oSWJ0fRxSsq5NvgFNkSkpBWoYIY+4teLWhV0d3OWsIH1yY+qHQQ8fb6BsSA32Tki
L2vp9Y03pwKBgHt+yMAW2Kj2fBJ4qGaDWYdQrsnZFWcZqkS3CaeXyIBC9lFEfVsr
vpUhaSk0upXbaMDacgd0jTq2uaUj0EQL7Pdcv5CMNIiNC+Vo569hXwMuElhRoF5u
hFIvZU7y2XG3RTSelf3GRrkmQBRB7j77lhEDHIaW4rv0gGGoLLw+BmHpAoGAcrUT
+vs6w1ZNWS35mHWUxNof+lR7SpOChHRFnkDV0UhXmCZxqNReLHcZKAhfMdviH4j6
zEAQ9UYRiK0uRd4NTtw3Us4o54a/iv8LWuw5mxxOzkyGkUkw1ejLyjlViEuqQUlr
h40b2sO8aI95V9A0RlhnnlBJkNFWeamHWVkVR28CgYBX9soyNkUOuS+mB+A33QFL
eJaCzeSKapQ7eujZawx5dogaJdsEJ8Dy+cZ0J4Aa8SNclyAH4PKIr1yGVmf8UVKf
3iHHcwikaNesOqQZMul9jmpEKPTri/eG1KFLvp3B8MZgFdDAuSxtvnvcZ875AB5r
nXei7u4R0RBZ+U/joF+0vA==
-----END PRIVATE KEY-----
";

const P384: &str = "\
-----BEGIN PRIVATE KEY-----
MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDAJWZ6VUHwCvOfWhCqc
x+xwqY0D3CXmgvccXwC0+Tk4Ee5rfIuImlYjX1DuC2rpELahZANiAARqrqenCV6P
zwpBGDuakg1SYxE8rmLXDE3EZiKvJtludxItH6IBDtwqSWuAcH/PqNA6Bo4XAKjH
rdxDQJXfe8OAjJ8V2vAU2zFmDU+btBFMgZ14mByNQD0AIOTf+zEQZv4=
-----END PRIVATE KEY-----
";

const ED25519: &str = "\
-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIKRUx8yypy83vfdDiDzvpQRnPFYA3SnQ+VgxKEn7PfxX
-----END PRIVATE KEY-----
";
