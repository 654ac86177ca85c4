//! Who issues tokens for a server: rows F02, F03, F05, F06.

use contexture::AuthorizationStep::Discovery;
use contexture::auth::{Authorization, MemoryStore};
use serde_json::json;

use super::support::{Person, policy, step};
use super::world::{World, metadata};

/// F02, and GHSA-33f5-2c5q-wgwj: a document about another server is not believed.
#[tokio::test]
async fn metadata_about_another_resource_is_refused() {
    let world = World::start().await;
    let mcp = world.mcp.clone();
    for resource in [
        "https://evil.example.com/mcp".to_owned(),
        format!("{mcp}/mcpx"),
        format!("{mcp}/mcp/deeper"),
        format!("{mcp}/other"),
        mcp.replace("127.0.0.1", "localhost"),
        mcp.replace("http:", "https:"),
        format!("{mcp}@evil.example/mcp"),
        format!("{mcp}/mcp#x"),
        String::new(),
    ] {
        world.resource(|document| drop(document.insert("resource".into(), json!(resource))));
        assert_eq!(world.fails().await.step, Discovery, "{resource:?}");
    }
    let others = world.seen().into_iter().filter(|seen| seen.origin != mcp);
    assert_eq!(others.count(), 0, "nobody else was asked for anything");
}

// covers: AUTH-RESOURCE-AUTHZ-REQ, AUTH-RESOURCE-TOKEN-REQ, AUTH-RESOURCE-TARGET, AUTH-RESOURCE-INDICATORS, AUTH-RESOURCE-ALWAYS
#[tokio::test]
async fn the_resource_is_sent_as_the_server_spells_it() {
    let world = World::start().await;
    for resource in [format!("{}/mcp", world.mcp), world.mcp.clone(), world.mcp.replace("http", "HTTP")] {
        world.resource(|document| drop(document.insert("resource".into(), json!(resource))));
        world.use_with(policy(&Person::default())).await.expect("logged in");
        assert_eq!(world.at("/authorize").last().expect("a login").query["resource"], resource);
        assert_eq!(world.at("/token").last().expect("a token").form["resource"], resource);
    }
}

/// F03: exactly the issuer that was asked for.
#[tokio::test]
async fn metadata_of_another_issuer_is_refused() {
    let world = World::start().await;
    let issuer = world.issuer.clone();
    for named in [
        format!("{issuer}/"),
        issuer.replace("http", "HTTP"),
        issuer.replace("127.0.0.1", "localhost"),
        format!("{issuer}/tenant"),
        "https://honest.example".to_owned(),
    ] {
        world.metadata(|document| drop(document.insert("issuer".into(), json!(named))));
        assert_eq!(world.fails().await.step, Discovery, "{named}");
    }
    for path in ["/authorize", "/token", "/register"] {
        assert!(world.at(path).is_empty(), "{path} is not used");
    }
}

/// F05, and F04 before a browser is involved.
// covers: AUTH-COMM-SECURITY, AUTH-AS-HTTPS
#[tokio::test]
async fn endpoints_that_are_not_safe_are_refused() {
    let world = World::start().await;
    for endpoint in ["authorization_endpoint", "token_endpoint", "registration_endpoint"] {
        for bad in [
            "http://as.example/x",
            "http://10.0.0.1/x",
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "calculator://x",
            "https://as.example/\" & calc",
            "https://as.example/x y",
            "-https://as.example",
        ] {
            let mut document = metadata(&world.issuer);
            document[endpoint] = json!(bad);
            world.metadata(|known| *known = document.as_object().expect("an object").clone());
            assert_eq!(world.fails().await.step, Discovery, "{endpoint} {bad}");
        }
    }
    for path in ["/authorize", "/token", "/register"] {
        assert!(world.at(path).is_empty(), "{path} is not used");
    }
}

/// F06: nobody is registered or sent anywhere without PKCE.
// covers: AUTH-OAUTH21-SECURITY
#[tokio::test]
async fn authorization_servers_without_pkce_are_refused() {
    let world = World::start().await;
    for methods in [json!(null), json!([]), json!(["plain"]), json!(["s256"])] {
        world.metadata(|document| {
            drop(document.insert("code_challenge_methods_supported".into(), methods.clone()))
        });
        assert_eq!(world.fails().await.step, Discovery, "{methods}");
    }
    assert!(world.at("/authorize").is_empty() && world.at("/register").is_empty());
}

// covers: AUTH-CLIENT-PRM, AUTH-CLIENT-WWW-AUTH-PARSE
#[tokio::test]
async fn the_servers_metadata_is_where_it_says_or_where_it_must_be() {
    let world = World::start().await;
    let document = json!({ "resource": world.url(), "authorization_servers": [world.issuer] });
    let path = format!("{}/.well-known/oauth-protected-resource/mcp", world.mcp);
    let root = format!("{}/.well-known/oauth-protected-resource", world.mcp);
    let custom = format!("{}/custom/metadata.json", world.mcp);
    let named = format!("Basic realm=\"x\", Bearer realm=\"a, b\", resource_metadata=\"{custom}\"");
    for (at, challenge, asked) in [
        (&custom, named.as_str(), vec!["/custom/metadata.json"]),
        (&path, "Bearer", vec!["/.well-known/oauth-protected-resource/mcp"]),
        (
            &root,
            "",
            vec!["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"],
        ),
    ] {
        world.change(|script| {
            script
                .documents
                .retain(|url, _| !url.contains("oauth-protected-resource") && !url.contains("custom"));
            script.documents.insert(at.clone(), document.clone());
            script.challenge = challenge.to_owned();
        });
        let before = world.seen().len();
        world.use_with(policy(&Person::default())).await.expect("logged in");
        let seen = world.seen().split_off(before);
        let paths =
            seen.iter().filter(|seen| seen.origin == world.mcp && seen.path != "/mcp").map(|seen| &seen.path);
        assert_eq!(paths.collect::<Vec<_>>(), asked);
    }
}

// covers: AUTH-CLIENT-AS-METADATA
#[tokio::test]
async fn an_issuer_describes_itself_in_one_of_three_places() {
    let world = World::start().await;
    let issuer = format!("{}/tenant", world.issuer);
    world.resource(|document| drop(document.insert("authorization_servers".into(), json!([issuer]))));
    let places = [
        "/.well-known/oauth-authorization-server/tenant",
        "/.well-known/openid-configuration/tenant",
        "/tenant/.well-known/openid-configuration",
    ];
    let mut document = metadata(&world.issuer);
    document["issuer"] = json!(issuer);
    document["authorization_response_iss_parameter_supported"] = json!(false);
    world.change(|script| script.back.push(("iss", None)));
    for (index, place) in places.iter().enumerate() {
        world.change(|script| {
            script.documents.retain(|url, _| url.contains("protected-resource"));
            script.documents.insert(format!("{}{place}", world.issuer), document.clone());
        });
        let before = world.seen().len();
        world.use_with(policy(&Person::default())).await.expect("logged in");
        let seen = world.seen().split_off(before);
        let paths =
            seen.iter().filter(|seen| seen.path.contains("well-known") && seen.origin == world.issuer);
        assert_eq!(paths.map(|seen| seen.path.as_str()).collect::<Vec<_>>(), &places[..=index]);
    }
}

// covers: AUTH-CLIENT-AS-SELECT
#[tokio::test]
async fn of_several_issuers_one_is_chosen() {
    let world = World::start().await;
    let other = world.another_issuer().await;
    world.resource(|document| {
        drop(document.insert("authorization_servers".into(), json!([world.issuer, other])))
    });
    let person = Person::default();
    world.use_with(policy(&person)).await.expect("logged in");
    assert_eq!(world.at("/token").last().expect("a token").origin, world.issuer, "the first");
    world.use_with(policy(&person).choose_issuer(|issuers| issuers.len() - 1)).await.expect("logged in");
    assert_eq!(world.at("/token").last().expect("a token").origin, other, "the chosen");
    world.use_with(policy(&person).issuer(&other)).await.expect("logged in");
    assert_eq!(world.at("/token").last().expect("a token").origin, other, "the given");
    let refused = world.use_with(policy(&person).issuer("https://third.example")).await;
    assert_eq!(step(refused.err()), Discovery);
    world.resource(|document| drop(document.insert("authorization_servers".into(), json!([]))));
    assert_eq!(world.fails().await.step, Discovery);
}

/// Servers of the first revision with authorization name nobody.
#[tokio::test]
async fn a_server_that_names_nobody_is_its_own_issuer() {
    let world = World::start().await;
    let url = format!("{}/.well-known/oauth-authorization-server", world.mcp);
    let mut document = metadata(&world.mcp);
    document["token_endpoint"] = json!(format!("{}/oauth/token", world.mcp));
    world.change(|script| {
        script.documents.clear();
        script.challenge = "Bearer".into();
        script.documents.insert(url.clone(), document);
        script.documents.insert(
            format!("{}/oauth/token", world.mcp),
            json!({ "access_token": "a", "token_type": "bearer" }),
        );
    });
    world.accept("a");
    world.use_with(policy(&Person::default())).await.expect("logged in by its metadata");
    assert!(world.seen().iter().any(|seen| seen.path == "/oauth/token"));
    world.change(|script| drop(script.documents.remove(&url)));
    world.use_with(policy(&Person::default())).await.expect("logged in by default endpoints");
    assert!(world.seen().iter().any(|seen| seen.path == "/token" && seen.origin == world.mcp));
}

/// F23: tokens are for servers that ask, and for the address that they were issued for.
#[tokio::test]
async fn nothing_is_shown_to_a_server_that_did_not_ask() {
    let (asking, silent) = (World::start().await, World::start().await);
    let store = MemoryStore::new();
    let policy = Authorization::visitor(Person::default()).store(store.clone());
    asking.use_with(policy.clone()).await.expect("logged in");
    silent.change(|script| script.always = Some((500, String::new())));
    assert!(silent.use_with(policy).await.is_err());
    assert!(silent.at_server().iter().all(|seen| !seen.headers.contains_key("authorization")));
}
