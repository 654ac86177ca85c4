//! A server behind that wants logins: the gateway is one client there and many come through it, so it asks about each itself.

use contexture::auth::{Authorization, MemoryStore, Protection};
use contexture::client::{ElicitAnswer, Elicitation, Question};
use contexture::revision::Revision;
use contexture::{Client, Context, Server, tool};
use contexture_auth_server::AuthServer;
use serde_json::json;

use crate::browser::{Browser, REDIRECT, SignsIn};
use crate::stage::{Listening, Stage};

async fn issuer(server: AuthServer) -> String {
    let bound = server.bind("127.0.0.1:0").await.expect("a port");
    let issuer = bound.issuer();
    tokio::spawn(bound.serve());
    issuer
}

/// A server that says who it takes its caller for.
async fn protected(issuer: &str) -> String {
    let who = tool("who").handler(|context: Context| async move { context.principal().subject().to_owned() });
    let http =
        Server::new("notes", "1").tool(who).into_http().expect("a server").protect(Protection::new(issuer));
    let bound = http.bind("127.0.0.1:0").await.expect("a port");
    let url = bound.url();
    tokio::spawn(bound.serve_until(std::future::pending()));
    url
}

/// Ada, who is asked to visit a page of the gateway: what she finds there, and which button she presses.
fn visits(client: &'static str, button: &'static str, far: String) -> Elicitation {
    let elicitation = Elicitation::new(move |question| {
        let far = far.clone();
        async move {
            let Question::Url { url, .. } = question else { panic!("no page to visit: {question:?}") };
            let mut browser = Browser::of("ada");
            let page = browser.open(&url).await;
            // It names the program that wants it, before anything leads to the other issuer.
            assert!(page.page.contains(client), "{client}: {page:?}");
            assert!(browser.visited.iter().all(|url| !url.starts_with(&far)), "{:?}", browser.visited);
            browser.name = "ada.far".to_owned();
            browser.press(&page, button).await;
            if button == "deny" {
                assert!(browser.visited.iter().all(|url| !url.starts_with(&far)), "{:?}", browser.visited);
            }
            ElicitAnswer::Accept(Default::default())
        }
    });
    elicitation.urls()
}

async fn connect(
    gateway: &Listening,
    id: &'static str,
    revision: Revision,
    elicitation: Elicitation,
) -> Client {
    let authorization =
        Authorization::visitor(SignsIn(Browser::of("ada"))).client_id(id).store(MemoryStore::new());
    let builder =
        Client::builder().revisions(&[revision]).authorization(authorization).elicitation(elicitation);
    builder.connect(&gateway.url).await.expect("a client")
}

// covers: SEC-PROXY-CONSENT, AUTH-UPSTREAM-CLIENT
#[tokio::test]
async fn a_second_program_of_the_same_person_is_asked_about() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let clients = [("app", "The app"), ("other", "The other")];
        let near = clients.into_iter().fold(AuthServer::new(), |server, (id, name)| {
            server.client(contexture_auth_server::Client::public(id).name(name).redirect(REDIRECT))
        });
        let (near, far) = (issuer(near).await, issuer(AuthServer::new()).await);
        let servers = json!({ "notes": { "url": protected(&far).await } });
        let stage = Stage::new(servers, json!({ "policy": { "default": "allow" } }));
        let gateway = stage.listen(&["--protect", &near]);

        let app = connect(&gateway, "app", revision, visits("app", "agree", far.clone())).await;
        app.call("notes__login", ()).await.unwrap_or_else(|error| panic!("{revision}: {error}"));
        assert_eq!(app.call("notes__who", ()).await.expect("an answer").text(), "ada.far", "{revision}");

        let other = connect(&gateway, "other", revision, visits("other", "deny", far.clone())).await;
        let denied = other.call("notes__who", ()).await;
        let words = denied.map(|reply| reply.text()).expect_err("nobody agreed to this one").to_string();
        assert!(words.contains("said no"), "{revision}: {words}");
        assert_eq!(
            app.call("notes__who", ()).await.expect("an answer").text(),
            "ada.far",
            "the first goes on"
        );

        let asked_again = connect(&gateway, "other", revision, visits("other", "agree", far.clone())).await;
        assert_eq!(
            asked_again.call("notes__who", ()).await.expect("an answer").text(),
            "ada.far",
            "{revision}"
        );
    }
}
