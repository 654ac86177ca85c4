//! How clients prove themselves: in one way, in their way, and an assertion once.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use contexture::auth::jwt::SigningKey;
use contexture_auth_server::Client;
use serde_json::{Value, json};

use crate::support::{Stage, server, with};

const KIND: (&str, &str) =
    ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");

type Pairs<'a> = &'a [(&'a str, &'a str)];

fn refused() -> (u16, String) {
    (401, "invalid_client".to_owned())
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs()
}

#[tokio::test]
async fn a_wrong_secret_gets_nothing() {
    let machine = Client::confidential("robot", "p:ss w%rd").machine();
    let stage = Stage::new(server().client(machine)).await;
    let form = [("grant_type", "client_credentials")];
    let basic = |text: &str| format!("Basic {}", STANDARD.encode(text));
    for good in ["robot:p%3Ass+w%25rd", "robot:p%3ass%20w%25rd"] {
        let reply = stage.post_with("/token", &form, &[("authorization", &basic(good))]).await;
        assert_eq!(reply.status, 200, "{good}: {reply:?}");
    }
    let headers = [
        basic("robot:"),
        basic("robot:wrong"),
        basic("robot:p:ss w%25rd "),
        basic("app:"),
        basic("nobody:x"),
        basic("robot"),
        basic(""),
        "Basic".to_owned(),
        "Basic !!!".to_owned(),
        "Bearer x".to_owned(),
        "basic".to_owned(),
    ];
    for header in headers {
        let reply = stage.post_with("/token", &form, &[("authorization", &header)]).await;
        assert_eq!(reply.refusal(), refused(), "{header}");
        assert!(reply.header("www-authenticate").is_some_and(|it| it.starts_with("Basic ")), "{header}");
        assert!(!reply.body.contains("p:ss"));
    }
    let forms = [
        vec![],
        vec![("client_id", "robot")],
        vec![("client_id", "robot"), ("client_secret", "wrong")],
        vec![("client_secret", "p:ss w%rd")],
        vec![("client_id", "nobody")],
        vec![("client_id", "app"), ("client_secret", "x")],
    ];
    for more in forms {
        assert_eq!(stage.post("/token", &[&form[..], &more].concat()).await.refusal(), refused(), "{more:?}");
    }
}

#[tokio::test]
async fn two_proofs_are_none() {
    let stage = Stage::new(server()).await;
    let basic = format!("Basic {}", STANDARD.encode("vault:the+secret"));
    let cases: [(Pairs<'_>, Pairs<'_>); 4] = [
        (&[("client_id", "vault"), ("client_secret", "the secret")], &[("authorization", &basic)]),
        (&[("client_id", "app")], &[("authorization", &basic)]),
        (
            &[("client_id", "vault"), ("client_secret", "the secret"), ("client_assertion", "a.b.c"), KIND],
            &[],
        ),
        (&[], &[("authorization", &basic), ("authorization", &basic)]),
    ];
    for (form, headers) in cases {
        let form = [&[("grant_type", "refresh_token"), ("refresh_token", "x")], form].concat();
        let reply = stage.post_with("/token", &form, headers).await;
        assert_eq!(reply.refusal(), (400, "invalid_request".to_owned()), "{form:?}");
    }
}

fn assertion(stage: &Stage, key: &SigningKey, change: &[(&str, Value)]) -> String {
    let mut claims = json!({
        "iss": "robot", "sub": "robot", "aud": stage.issuer, "exp": now() + 60, "iat": now(),
        "jti": format!("{:p}-{}", &change, rand()),
    });
    for (name, value) in change {
        claims[*name] = value.clone();
    }
    key.sign(&[("typ", "JWT")], &claims).expect("signed")
}

/// Different each time.
fn rand() -> usize {
    static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

#[tokio::test]
async fn an_assertion_is_by_the_client_for_us_short_lived_and_good_once() {
    let key = SigningKey::generate_es256().expect("a key");
    let robot = Client::with_keys("robot", json!({ "keys": [key.public_jwk()] })).machine();
    let stage = Stage::new(server().client(robot)).await;
    let form = |assertion: &str| {
        let pairs = [("grant_type", "client_credentials"), ("client_assertion", assertion), KIND];
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    let post = async |assertion: &str| {
        let form = form(assertion);
        let form: Vec<_> = form.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        stage.post("/token", &form).await
    };
    let good = assertion(&stage, &key, &[]);
    assert_eq!(post(&good).await.status, 200);
    assert_eq!(post(&good).await.refusal(), refused(), "it was used before");
    let endpoint = json!(format!("{}/token", stage.issuer));
    assert_eq!(post(&assertion(&stage, &key, &[("aud", endpoint)])).await.status, 200);

    let changes = [
        ("iss", json!("app")),
        ("sub", json!("app")),
        ("sub", json!("vault")),
        ("aud", json!("https://other.example")),
        ("aud", json!(null)),
        ("exp", json!(now() - 120)),
        ("exp", json!(now() + 3600)),
        ("exp", json!(null)),
        ("exp", json!("soon")),
        ("iat", json!(now() + 600)),
        ("nbf", json!(now() + 600)),
        ("jti", json!(null)),
        ("jti", json!("")),
    ];
    for (name, value) in changes {
        let reply = post(&assertion(&stage, &key, &[(name, value.clone())])).await;
        assert_eq!(reply.refusal(), refused(), "{name}: {value}");
    }
    let other = SigningKey::generate_es256().expect("a key");
    let fresh = assertion(&stage, &key, &[]);
    let (signed, _) = fresh.rsplit_once('.').expect("a signature");
    for bad in [
        &assertion(&stage, &other, &[]),
        &format!("{signed}."),
        &format!("{signed}.AAAA"),
        signed,
        "a.b.c",
        "x",
    ] {
        assert_eq!(post(bad).await.refusal(), refused(), "{bad}");
    }
    let fresh = assertion(&stage, &key, &[]);
    let pairs = [("grant_type", "client_credentials"), ("client_assertion", fresh.as_str()), KIND];
    let kind = stage.post("/token", &with(&pairs, "client_assertion_type", Some("urn:other"))).await;
    assert_eq!(kind.refusal(), (400, "invalid_request".to_owned()));
    let another = stage.post("/token", &with(&pairs, "client_id", Some("app"))).await;
    assert_eq!(another.refusal(), (400, "invalid_request".to_owned()));
    assert_eq!(stage.post("/token", &with(&pairs, "client_id", Some("robot"))).await.status, 200);
    let secret = [("grant_type", "client_credentials"), ("client_id", "robot"), ("client_secret", "x")];
    assert_eq!(stage.post("/token", &secret).await.refusal(), refused(), "it is not known for secrets");
}
