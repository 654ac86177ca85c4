//! A server behind that wants logins: the gateway is one client there and many come through it, so it asks about each itself.

use std::sync::{Arc, Mutex, PoisonError};

use contexture::auth::{Authorization, MemoryStore, Protection};
use contexture::client::{Builder, ElicitAnswer, Elicitation, Event, Question};
use contexture::model::LoggingLevel;
use contexture::revision::Revision;
use contexture::server::Reply;
use contexture::server::layers::filter_output;
use contexture::{Client, Context, Error, Server, resource, tool};
use contexture_auth_server::AuthServer;
use serde_json::json;

use crate::browser::{Browser, REDIRECT, SignsIn};
use crate::stage::{DENIED, Listening, Stage};

async fn issuer(server: AuthServer) -> String {
    let bound = server.bind("127.0.0.1:0").await.expect("a port");
    let issuer = bound.issuer();
    tokio::spawn(bound.serve());
    issuer
}

/// One revision of each era.
const ERAS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];
const DIARY: &str = "notes+note://diary";

/// A server that says who it takes its caller for, and has something to watch.
async fn protected(issuer: &str, change: impl FnOnce(Server) -> Server) -> String {
    let who = tool("who").handler(|context: Context| async move { context.principal().subject().to_owned() });
    let server = Server::new("notes", "1").tool(who).resource(resource("note://diary").text("dear diary"));
    let http = change(server).into_http().expect("a server").protect(Protection::new(issuer));
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

/// A gateway that Ada reaches with two programs, and the issuer that the server behind it believes.
struct Scene {
    gateway: Listening,
    far: String,
    _stage: Stage,
}

impl Scene {
    async fn new() -> Self {
        Self::with(|server| server).await
    }

    /// With another server behind it.
    async fn with(change: impl FnOnce(Server) -> Server) -> Self {
        let clients = [("app", "The app"), ("other", "The other")];
        let near = clients.into_iter().fold(AuthServer::new(), |server, (id, name)| {
            server.client(contexture_auth_server::Client::public(id).name(name).redirect(REDIRECT))
        });
        let (near, far) = (issuer(near).await, issuer(AuthServer::new()).await);
        let servers = json!({ "notes": { "url": protected(&far, change).await } });
        let stage = Stage::new(servers, json!({ "policy": { "default": "allow" } }));
        let gateway = stage.listen(&["--protect", &near]);
        Self { gateway, far, _stage: stage }
    }

    /// One of her programs, and what she does when it sends her to a page.
    async fn client(&self, id: &'static str, button: &'static str, revision: Revision) -> Client {
        let elicitation = visits(id, button, self.far.clone());
        self.connect(id, Client::builder().revisions(&[revision]).elicitation(elicitation)).await
    }

    async fn connect(&self, id: &'static str, builder: Builder) -> Client {
        let authorization =
            Authorization::visitor(SignsIn(Browser::of("ada"))).client_id(id).store(MemoryStore::new());
        builder.authorization(authorization).connect(&self.gateway.url).await.expect("a client")
    }
}

/// The names of all tools and resources, asked for anew.
async fn shown(client: &Client) -> Vec<String> {
    let tools = client.tools_page(None).await.expect("tools").tools;
    let resources = client.resources_page(None).await.expect("resources").resources;
    tools.into_iter().map(|it| it.name).chain(resources.into_iter().map(|it| it.uri)).collect()
}

// covers: SEC-PROXY-CONSENT, AUTH-UPSTREAM-CLIENT
#[tokio::test]
async fn a_second_program_of_the_same_person_is_asked_about() {
    for revision in ERAS {
        let scene = Scene::new().await;
        let app = scene.client("app", "agree", revision).await;
        app.call("notes__login", ()).await.unwrap_or_else(|error| panic!("{revision}: {error}"));
        assert_eq!(app.call("notes__who", ()).await.expect("an answer").text(), "ada.far", "{revision}");

        let other = scene.client("other", "deny", revision).await;
        let denied = other.call("notes__who", ()).await;
        let words = denied.map(|reply| reply.text()).expect_err("nobody agreed to this one").to_string();
        assert!(words.contains("said no"), "{revision}: {words}");
        assert_eq!(
            app.call("notes__who", ()).await.expect("an answer").text(),
            "ada.far",
            "the first goes on"
        );

        let asked_again = scene.client("other", "agree", revision).await;
        assert_eq!(
            asked_again.call("notes__who", ()).await.expect("an answer").text(),
            "ada.far",
            "{revision}"
        );
    }
}

// covers: SEC-PROXY-CONSENT
#[tokio::test]
async fn a_program_that_nobody_agreed_to_sees_what_there_is_before_a_login() {
    for revision in ERAS {
        let scene = Scene::new().await;
        let app = scene.client("app", "agree", revision).await;
        assert_eq!(shown(&app).await, ["notes__login"], "{revision}");
        app.call("notes__login", ()).await.unwrap_or_else(|error| panic!("{revision}: {error}"));
        assert_eq!(shown(&app).await, ["notes__who", DIARY], "{revision}");
        app.subscribe(DIARY).await.unwrap_or_else(|error| panic!("{revision}: {error}"));

        let other = scene.client("other", "deny", revision).await;
        assert_eq!(shown(&other).await, ["notes__login"], "{revision}: what is ada's");
        // Whatever it names, it does not learn whether that is there.
        for name in ["notes__who", "notes__nothing", "notes__login"] {
            let words = other.call(name, ()).await.expect_err("nobody agreed to this one").to_string();
            assert!(words.contains("said no"), "{revision} {name}: {words}");
        }
        let refused = other.subscribe(DIARY).await.expect_err("nobody agreed to this one");
        if revision.rules().has_server_requests {
            assert!(matches!(&refused, Error::Remote(error) if error.code == DENIED), "{refused}");
        }
        assert_eq!(shown(&other).await, ["notes__login"], "{revision}");
        assert_eq!(shown(&app).await, ["notes__who", DIARY], "{revision}: the first goes on");

        let agreed = scene.client("other", "agree", revision).await;
        agreed.call("notes__login", ()).await.unwrap_or_else(|error| panic!("{revision}: {error}"));
        for client in [&agreed, &other, &app] {
            assert_eq!(shown(client).await, ["notes__who", DIARY], "{revision}");
        }
        agreed.subscribe(DIARY).await.unwrap_or_else(|error| panic!("{revision}: {error}"));
    }
}

/// However long it takes: whoever asked for it may be gone by then.
#[tokio::test]
async fn a_login_that_nobody_waits_for_is_noticed() {
    for revision in ERAS {
        let scene = Scene::new().await;
        let client = scene.connect("app", Client::builder().revisions(&[revision]).watch_lists()).await;
        assert_eq!(shown(&client).await, ["notes__login"], "{revision}");
        // It cannot send her anywhere, so it is told the address, and its call is over.
        let words = client.call("notes__login", ()).await.expect_err("not yet").to_string();
        let link = words.split_whitespace().find(|word| word.starts_with("http://")).expect("a link");
        let mut events = client.events();
        let mut browser = Browser::of("ada");
        let page = browser.open(link).await;
        browser.name = "ada.far".to_owned();
        let done = browser.press(&page, "agree").await;
        assert!(done.page.contains("You are logged in"), "{revision}: {done:?}");
        let told = async { while !matches!(events.next().await, Some(Event::ToolsChanged)) {} };
        let told = tokio::time::timeout(std::time::Duration::from_secs(30), told).await;
        assert!(told.is_ok(), "{revision}: nobody says that the list has changed");
        assert_eq!(shown(&client).await, ["notes__who", DIARY], "{revision}");
    }
}

/// It would be on the connection that carries the person's login.
#[tokio::test]
async fn a_program_that_nobody_agreed_to_does_not_set_the_level_of_the_log() {
    let levels = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&levels);
    let revision = Revision::V2025_11_25;
    let scene = Scene::with(|server| {
        server.revisions(&[revision]).layer(filter_output(move |_, reply| {
            if let Reply::LevelSet(level) = reply {
                noted.lock().unwrap_or_else(PoisonError::into_inner).push(*level);
            }
        }))
    })
    .await;
    let app = scene.client("app", "agree", revision).await;
    app.set_log_level(LoggingLevel::Emergency).await.expect("a level");
    app.call("notes__login", ()).await.expect("logged in");
    app.call("notes__who", ()).await.expect("an answer");
    let other = scene.client("other", "deny", revision).await;
    other.set_log_level(LoggingLevel::Debug).await.expect("whatever that changes");
    app.set_log_level(LoggingLevel::Warning).await.expect("a level");
    app.call("notes__who", ()).await.expect("an answer");
    let levels = levels.lock().unwrap_or_else(PoisonError::into_inner).clone();
    assert_eq!(levels, [LoggingLevel::Emergency, LoggingLevel::Warning]);
}
