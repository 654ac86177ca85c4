//! Two people, each with a login of their own at a server behind a protected gateway (J12): the whole way, through the binary.

use std::sync::{Arc, Mutex, PoisonError};

use contexture::auth::{Authorization, MemoryStore, Protection, TokenVerifier, Verifying};
use contexture::client::{ElicitAnswer, Elicitation, Question};
use contexture::revision::Revision;
use contexture::{Client, Context, Server, tool};
use contexture_auth_server::AuthServer;
use serde_json::json;

use crate::browser::{Browser, REDIRECT, SignsIn};
use crate::stage::{ERAS, Folder, Gateway, allowing, call, text, tools, until, within};

type Seen = Arc<Mutex<Vec<String>>>;

/// Notes every token that is shown.
struct Noting(Arc<dyn TokenVerifier>, Seen);

impl TokenVerifier for Noting {
    fn verify<'a>(&'a self, token: &'a str, audience: &'a [String]) -> Verifying<'a> {
        self.1.lock().unwrap_or_else(PoisonError::into_inner).push(token.to_owned());
        self.0.verify(token, audience)
    }
}

async fn issuer(server: AuthServer) -> String {
    let bound = server.bind("127.0.0.1:0").await.expect("a port");
    let issuer = bound.issuer();
    tokio::spawn(bound.serve());
    issuer
}

/// A server that says who it takes its caller for.
async fn protected(issuer: &str) -> (String, Seen) {
    let seen = Seen::default();
    let (protection, verifier) = Protection::new(issuer).share_verifier().expect("an issuer");
    let protection = protection.verifier(Noting(verifier, Arc::clone(&seen)));
    let who = tool("who").handler(|ctx: Context| async move { ctx.principal().subject().to_owned() });
    let http = Server::new("notes", "1.0.0").tool(who).into_http().expect("a server").protect(protection);
    let bound = http.bind("127.0.0.1:0").await.expect("a port");
    let url = bound.url();
    tokio::spawn(bound.serve_until(std::future::pending()));
    (url, seen)
}

/// The whole way of a person who is asked to log in: to the gateway as `near`, to the server as `far`.
fn logging_in(near: &'static str, far: &'static str) -> Elicitation {
    let elicitation = Elicitation::new(move |question| async move {
        let Question::Url { url, .. } = question else { panic!("not a URL: {question:?}") };
        let mut browser = Browser::of(near);
        let page = browser.open(&url).await;
        assert_eq!(page.status, 200, "{page:?}");
        browser.name = far.to_owned();
        let done = browser.press(&page, "agree").await;
        assert!(done.page.contains("You are logged in to notes"), "{done:?}");
        ElicitAnswer::Accept(Default::default())
    });
    elicitation.urls()
}

async fn client(gateway: &Gateway, near: &'static str, far: &'static str, revision: Revision) -> Client {
    let authorization =
        Authorization::visitor(SignsIn(Browser::of(near))).client_id("app").store(MemoryStore::new());
    let builder = Client::builder()
        .revisions(&[revision])
        .authorization(authorization)
        .elicitation(logging_in(near, far));
    gateway.connect(builder).await
}

#[tokio::test]
async fn j12_two_people_never_share_what_they_are() {
    for revision in ERAS {
        let app = contexture_auth_server::Client::public("app").name("app").redirect(REDIRECT);
        let near = issuer(AuthServer::new().client(app)).await;
        let far = issuer(AuthServer::new()).await;
        let (server, seen) = protected(&far).await;
        let config = allowing(json!({ "notes": { "url": server } }));
        let gateway = Gateway::with(Folder::new(), config, &["--protect", &near], &[]).await;
        let mut people = Vec::new();
        for (near, far) in [("ada", "ada.far"), ("ben", "ben.far")] {
            let client = client(&gateway, near, far, revision).await;
            let before = tools(&client).await;
            assert_eq!(before, ["notes__login"], "J12 {revision}: before the login");
            text(&client, "notes__login", json!({})).await;
            within("J12: the tools appear", async {
                while !tools(&client).await.contains(&"notes__who".to_owned()) {
                    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                }
            })
            .await;
            people.push((client, far));
        }
        for _ in 0..20 {
            let (first, second) = tokio::join!(
                call(&people[0].0, "notes__who", json!({})),
                call(&people[1].0, "notes__who", json!({}))
            );
            let said = [first, second]
                .map(|reply| reply.unwrap_or_else(|error| panic!("J12 {revision}: {error}")).text());
            assert_eq!(said, [people[0].1, people[1].1], "J12 {revision}");
        }
        let tokens = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        assert!(!tokens.is_empty(), "J12");
        for token in tokens {
            let claims = token.split('.').nth(1).unwrap_or_default().to_owned();
            assert!(!claims.is_empty(), "J12: not a token of the far issuer");
        }
        until("J12: no token is in the log", || !gateway.log.text().contains("eyJ")).await;
    }
}

#[tokio::test]
async fn j12_a_gateway_that_its_issuer_knows_does_not_register() {
    let app = contexture_auth_server::Client::public("app").name("app").redirect(REDIRECT);
    let known = contexture_auth_server::Client::confidential("the-gateway", "its secret")
        .redirect("http://127.0.0.1/login/callback");
    let near = issuer(AuthServer::new().client(app).client(known)).await;
    let (server, _seen) = protected(&issuer(AuthServer::new()).await).await;
    let config = allowing(json!({ "notes": { "url": server } }));
    let arguments = ["--protect", &near, "--client-id", "the-gateway"];
    let secret = [("CONTEXTURE_CLIENT_SECRET", "its secret")];
    let gateway = Gateway::with(Folder::new(), config, &arguments, &secret).await;
    let issuer = near.clone();
    let elicitation = Elicitation::new(move |question| {
        let issuer = issuer.clone();
        async move {
            let Question::Url { url, .. } = question else { panic!("not a URL: {question:?}") };
            let mut browser = Browser::of("ada");
            let page = browser.open(&url).await;
            assert_eq!(page.status, 200, "{page:?}");
            let asked = browser.visited.iter().find(|url| url.starts_with(&issuer)).expect("sent there");
            assert!(asked.contains("client_id=the-gateway&"), "{asked}");
            browser.press(&page, "agree").await;
            ElicitAnswer::Accept(Default::default())
        }
    });
    let authorization =
        Authorization::visitor(SignsIn(Browser::of("ada"))).client_id("app").store(MemoryStore::new());
    let builder = Client::builder().authorization(authorization).elicitation(elicitation.urls());
    let client = gateway.connect(builder).await;
    text(&client, "notes__login", json!({})).await;
}

#[tokio::test]
async fn j16_one_persons_haste_is_not_anothers() {
    let app = contexture_auth_server::Client::public("app").name("app").redirect(REDIRECT);
    let near = issuer(AuthServer::new().client(app)).await;
    let folder = Folder::new();
    let one = crate::upstream::Upstream::new(&folder, "one", "legacy");
    let mut config = allowing(json!({ "one": one.entry }));
    config["limits"] = json!({ "callsPerSecond": 20 });
    let gateway = Gateway::with(folder, config, &["--protect", &near], &[]).await;
    for revision in ERAS {
        let hasty = client(&gateway, "ada", "ada", revision).await;
        let calm = client(&gateway, "ben", "ben", revision).await;
        text(&calm, "one__echo", json!({})).await;
        let mut refused = 0;
        for round in 0..200 {
            refused += usize::from(call(&hasty, "one__echo", json!({})).await.is_err());
            if round % 20 == 0 {
                text(&calm, "one__echo", json!({})).await;
            }
        }
        assert!(refused > 0, "J16 {revision}: nobody was limited");
    }
}

#[tokio::test]
async fn j12_whoever_is_nobody_is_served_nothing() {
    let near = issuer(AuthServer::new()).await;
    let gateway = Gateway::with(
        Folder::new(),
        allowing(json!({ "x": { "command": "/bin/cat" } })),
        &["--protect", &near],
        &[],
    )
    .await;
    for revision in ERAS {
        let refused = within("J12", Client::builder().revisions(&[revision]).connect(&gateway.url)).await;
        assert!(refused.is_err(), "J12 {revision}: anybody is served");
    }
}
