//! Where the server says what it is, and to whom it answers at all.

use contexture::Error;
use contexture_auth_server::{AuthServer, Client};
use serde_json::json;

use crate::support::{Stage, send, server};

// covers: AUTH-AS-METADATA
#[tokio::test]
async fn metadata_are_at_every_address_where_clients_look() {
    for path in ["", "/tenant", "/a/b"] {
        let stage = Stage::new(server().path(path).scopes(["notes:read"])).await;
        let mut places = vec![
            format!("/.well-known/oauth-authorization-server{path}"),
            format!("/.well-known/openid-configuration{path}"),
        ];
        if !path.is_empty() {
            places.push(format!("{path}/.well-known/openid-configuration"));
        }
        for place in places {
            let reply = stage.get(&place).await;
            assert_eq!(
                (reply.status, reply.header("content-type")),
                (200, Some("application/json")),
                "{place}"
            );
            let document = reply.json();
            assert_eq!(document["issuer"], stage.issuer);
            for endpoint in ["authorization", "token", "registration", "revocation", "introspection"] {
                let address =
                    document[format!("{endpoint}_endpoint")].as_str().expect("an address").to_owned();
                assert!(address.starts_with(&format!("{}/", stage.issuer)), "{address}");
            }
            assert_eq!(document["response_types_supported"], json!(["code"]));
            assert_eq!(document["code_challenge_methods_supported"], json!(["S256"]));
            assert_eq!(document["authorization_response_iss_parameter_supported"], true);
            assert_eq!(document["client_id_metadata_document_supported"], true);
            assert_eq!(document["scopes_supported"], json!(["notes:read"]));
            if place.contains("openid") {
                assert_eq!(document["subject_types_supported"], json!(["public"]));
            }
        }
    }
    let stage = Stage::new(server().path("/tenant")).await;
    assert_eq!(stage.get("/.well-known/oauth-authorization-server").await.status, 404);
}

#[tokio::test]
async fn the_key_that_is_published_is_public() {
    let stage = Stage::new(server()).await;
    let keys = stage.get("/jwks").await.json();
    let key = keys["keys"][0].as_object().expect("a key");
    assert_eq!((key["kty"].as_str(), key["alg"].as_str()), (Some("EC"), Some("ES256")));
    assert!(key.contains_key("kid") && !key.contains_key("d"));
}

// covers: AUTH-AS-HTTPS
#[tokio::test]
async fn plain_http_never_leaves_this_machine() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "10.0.0.1:9"] {
        let refused = AuthServer::new().bind(address).await.expect_err(address);
        assert!(matches!(&refused, Error::Misuse(why) if why.contains("for development")), "{refused}");
    }
}

#[tokio::test]
async fn a_set_up_that_cannot_work_is_refused_before_it_is_served() {
    let cases = [
        AuthServer::new().path("tenant"),
        AuthServer::new().path("/tenant/"),
        AuthServer::new().path("/a{b}"),
        AuthServer::new().resource("http://example.com/mcp"),
        AuthServer::new().resource("https://example.com/mcp#x"),
        AuthServer::new().user(""),
        AuthServer::new().user("client:robot"),
        AuthServer::new().client(Client::public("a").redirect("http://example.com/cb")),
        AuthServer::new().client(Client::public("a").machine()),
        AuthServer::new().client(Client::with_keys("a", json!("no keys"))),
    ];
    for server in cases {
        let shown = format!("{server:?}");
        let refused = server.bind("127.0.0.1:0").await.err().unwrap_or_else(|| panic!("{shown}"));
        assert!(matches!(refused, Error::Misuse(_)), "{refused}");
    }
}

#[test]
fn secrets_of_the_set_up_are_not_shown() {
    let server = server().password("hunter2");
    let shown = format!("{server:?}");
    assert!(!shown.contains("hunter2") && !shown.contains("the secret"), "{shown}");
}

#[tokio::test]
async fn requests_for_another_host_are_refused() {
    let stage = Stage::new(server()).await;
    let port = stage.address.port();
    for host in ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"] {
        let host = format!("{host}:{port}");
        assert_eq!(send(stage.address, "GET", "/", &[("host", &host)], "").await.status, 200, "{host}");
    }
    for host in [
        "evil.example",
        &format!("evil.example:{port}"),
        "127.0.0.1:1",
        &format!("localhost.evil.example:{port}"),
    ] {
        for target in ["/", "/jwks", "/.well-known/oauth-authorization-server"] {
            assert_eq!(
                send(stage.address, "GET", target, &[("host", host)], "").await.status,
                403,
                "{host} {target}"
            );
        }
        assert_eq!(
            send(stage.address, "POST", "/register", &[("host", host)], "{}").await.status,
            403,
            "{host}"
        );
    }
    let twice = [("host", "127.0.0.1"), ("host", "evil.example")];
    assert_ne!(send(stage.address, "GET", "/", &twice, "").await.status, 200);
}

#[tokio::test]
async fn pages_of_other_hosts_read_documents_only() {
    let stage = Stage::new(server()).await;
    let far = ("origin", "https://evil.example");
    let near = ("origin", "http://localhost:6274");
    let form = ("content-type", "application/x-www-form-urlencoded");
    let jwks = send(stage.address, "GET", "/jwks", &[far], "").await;
    assert_eq!(jwks.header("access-control-allow-origin"), Some("*"));
    for path in ["/token", "/register", "/revoke", "/introspect"] {
        let refused = send(stage.address, "POST", path, &[far, form], "a=b").await;
        assert_eq!((refused.status, refused.header("access-control-allow-origin")), (403, None), "{path}");
        let null = send(stage.address, "POST", path, &[("origin", "null"), form], "a=b").await;
        assert_eq!(null.status, 403, "{path}");
    }
    let asked = send(stage.address, "OPTIONS", "/token", &[near], "").await;
    assert_eq!(
        (asked.status, asked.header("access-control-allow-origin")),
        (204, Some("http://localhost:6274"))
    );
    let page = send(stage.address, "GET", "/authorize", &[near], "").await;
    assert_eq!(page.header("access-control-allow-origin"), None);
}
