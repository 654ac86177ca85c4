//! Requests to addresses of somebody else's choice.

use contexture::auth::outbound::{Outbound, Reach, Unfetched};
use serde_json::{Value, json};

use crate::played::{Canary, Names, Played, redirect};
use crate::support::{Minter, Place};

async fn assert_forbidden(outbound: &Outbound, url: &str) {
    let result = outbound.get_json::<Value>(url, &[]).await;
    assert!(matches!(result, Err(Unfetched::Forbidden(_))), "{url}: {result:?}");
}

/// MCP Registry: the filter did not know tunnelled, translated and site-local addresses.
#[tokio::test]
async fn cve_2026_44430_addresses_in_addresses() {
    for reach in [Reach::Public, Reach::Loopback] {
        let outbound = Outbound::new(reach);
        for host in [
            "[2002:7f00:1::]",
            "[2002:a9fe:a9fe::1]",
            "[2002:a00:1::]",
            "[64:ff9b::7f00:1]",
            "[64:ff9b::169.254.169.254]",
            "[64:ff9b:1::7f00:1]",
            "[64:ff9b:1:ffff::a9fe:a9fe]",
            "[fec0::1]",
            "[feff::1]",
        ] {
            assert_forbidden(&outbound, &format!("https://{host}/jwks")).await;
            assert_forbidden(&outbound, &format!("http://{host}/jwks")).await;
            let address = host.trim_matches(['[', ']']);
            let names = Names::default().with("as.example", &[&[address]]);
            assert_forbidden(&outbound.clone().resolver(names), "https://as.example/jwks").await;
        }
    }
}

/// LibreChat: a name that leads to a private address got past a filter of names.
#[tokio::test]
async fn cve_2026_31945_names_of_private_addresses() {
    let mut canary = Canary::start().await;
    let names = Names::default()
        .with("127.0.0.1.nip.example", &[&["127.0.0.1"]])
        .with("both.example", &[&["93.184.216.34", "127.0.0.1"]]);
    let outbound = Outbound::new(Reach::Public).resolver(names);
    for name in ["127.0.0.1.nip.example", "both.example"] {
        assert_forbidden(&outbound, &format!("https://{name}:{}/", canary.port)).await;
    }
    canary.assert_alone().await;
}

/// LibreChat: variables in addresses were replaced after the check. Here they are never replaced.
#[tokio::test]
async fn cve_2026_32625_variables_in_addresses() {
    let names = Names::default();
    let outbound = Outbound::new(Reach::Public).resolver(names.clone());
    for url in ["https://${HOME}.example/", "https://%24{HOME}/", "https://$HOME/", "https://{{env.HOME}}/"] {
        let result = outbound.get_json::<Value>(url, &[]).await;
        let error = result.expect_err("nobody knows that name").to_string();
        let home = std::env::var("HOME").unwrap_or_default();
        assert!(home.len() < 2 || !error.contains(&home), "{url}: {error}");
    }
}

/// Obot: the URL of a server could lead into the network of whoever looked at it.
#[tokio::test]
async fn ghsa_jgh3_fggc_mcpm_networks_of_ours() {
    for reach in [Reach::Public, Reach::Loopback] {
        for host in
            ["10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "[fd00::1]", "[fe80::1]", "0.0.0.0"]
        {
            let address = host.trim_matches(['[', ']']);
            let names = Names::default().with("inner.example", &[&[address]]);
            let outbound = Outbound::new(reach).resolver(names);
            assert_forbidden(&outbound, &format!("https://{host}/")).await;
            assert_forbidden(&outbound, "https://inner.example/").await;
        }
    }
}

/// Azure MCP Server: somebody's URL led to the identity endpoint of the machine.
#[tokio::test]
async fn cve_2026_26118_identity_endpoints() {
    for url in [
        "http://169.254.169.254/metadata/identity/oauth2/token",
        "https://169.254.169.254/latest/meta-data/",
        "https://[fd00:ec2::254]/latest/meta-data/",
        "https://100.100.100.200/latest/meta-data/",
        "https://192.0.0.192/",
        "https://168.63.129.16.nip.io@169.254.169.254/",
        "https://0xA9FEA9FE/",
        "https://169.254.43518/",
    ] {
        for reach in [Reach::Public, Reach::Loopback] {
            assert_forbidden(&Outbound::new(reach), url).await;
        }
        let server = Played::start(move |_| redirect(302, url)).await;
        assert_forbidden(&Outbound::new(Reach::Loopback), &server.at("/")).await;
    }
}

/// The Inspector's proxy (cc416f0f): the name meant something else when it was connected than when it was checked.
#[tokio::test]
async fn inspector_cc416f0f_names_that_change_their_meaning() {
    let mut canary = Canary::start().await;
    let names = Names::default().with("flips.example", &[&["10.0.0.1"], &["127.0.0.1"]]);
    let outbound = Outbound::new(Reach::Loopback).resolver(names.clone());
    assert_forbidden(&outbound, &format!("https://flips.example:{}/", canary.port)).await;
    assert_eq!(names.asked("flips.example"), 1);
    canary.assert_alone().await;
}

/// n8n-mcp, and likewise mcp-atlassian (CVE-2026-27826), skywalking-mcp (CVE-2026-34476) and ha-mcp (CVE-2026-32111): something in a
/// request said where the server should connect. Here neither a token nor a header does.
#[tokio::test]
async fn cve_2026_39974_no_request_says_where_to_connect() {
    let mut canary = Canary::start().await;
    let minter = Minter::start().await;
    let place = Place::of(&minter).await;
    let evil = format!("http://127.0.0.1:{}", canary.port);
    let mut claims = minter.claims(&place.url(), "ada", "");
    let good = minter.sign(&claims);
    claims["iss"] = json!(evil);
    let jwks = format!("{evil}/jwks");
    for header in [&[("jku", jwks.as_str())][..], &[("x5u", &jwks)], &[]] {
        let token = minter.key.sign(header, &claims).expect("a token");
        let got = place.who(&token).await;
        assert_eq!(got.status, 401, "{got:?}");
    }
    for name in
        ["x-forwarded-host", "x-n8n-url", "x-atlassian-jira-url", "sw-url", "mcp-init-host", "forwarded"]
    {
        let request = crate::raw::Ask::modern(1, "who", json!({})).header(name, &evil);
        assert_eq!(place.ask(&request.by(&good)).await.status, 200, "{name}");
    }
    canary.assert_alone().await;
}
