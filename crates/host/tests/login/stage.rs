//! Everything that a login takes, on this machine.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use contexture::auth::{Authorization, MemoryStore, Protection, TokenVerifier, Verifying};
use contexture::client::{ElicitAnswer, Elicitation, Question};
use contexture::model::{CallToolResult, ErrorObject, ServerCapabilities};
use contexture::revision::Revision;
use contexture::server::{BoxFuture, HttpServer, Operation, OperationResult, Provider, Reply};
use contexture::{Client, Context, Error, Server, tool};
use contexture_auth_server::AuthServer;
use contexture_host::config::{Origin, ServerEntry, TransportSpec};
use contexture_host::login::{Doorkeeper, Logins, wanted};
use serde_json::json;
use tokio::sync::mpsc;

use crate::browser::{Browser, REDIRECT, SignsIn};

/// The gateway: one tool, which is one of the server behind it.
#[derive(Clone)]
pub(crate) struct Gateway {
    pub(crate) logins: Arc<Logins>,
    pub(crate) entry: ServerEntry,
}

impl Gateway {
    async fn call(&self, context: &Context) -> Result<CallToolResult, ErrorObject> {
        if let Err(wanted) = self.logins.permits(&self.entry, context.principal()).await {
            self.logins.needed(&self.entry, context, &wanted).await?;
        }
        let error = match self.who(context).await {
            Ok(who) => return Ok(CallToolResult::text(who)),
            Err(error) => error,
        };
        let Some(wanted) = wanted(&error) else { return Err(ErrorObject::internal(error.to_string())) };
        self.logins.needed(&self.entry, context, &wanted).await?;
        let who = self.who(context).await.map_err(|error| ErrorObject::internal(error.to_string()))?;
        Ok(CallToolResult::text(who))
    }

    async fn who(&self, context: &Context) -> Result<String, Error> {
        let TransportSpec::Http { url, .. } = &self.entry.transport else { panic!("a URL") };
        let mut builder = Client::builder();
        if let Some(authorization) = self.logins.authorization_for(&self.entry, context.principal()) {
            builder = builder.authorization(authorization);
        }
        let client = builder.connect(url).await?;
        Ok(client.call("who", json!({})).await?.text())
    }

    pub(crate) fn server(&self) -> Server {
        Server::new("gateway", "1.0.0").provided_by(self.clone())
    }
}

impl Provider for Gateway {
    fn capabilities(&self) -> Arc<ServerCapabilities> {
        Arc::new(serde_json::from_value(json!({ "tools": {} })).expect("capabilities"))
    }

    fn perform(&self, operation: Operation) -> BoxFuture<OperationResult> {
        let gateway = self.clone();
        Box::pin(async move { gateway.call(&operation.context).await.map(Reply::Tool) })
    }
}

/// Every token that a server was shown.
pub(crate) type Seen = Arc<Mutex<Vec<String>>>;

struct Noting(Arc<dyn TokenVerifier>, Seen);

impl TokenVerifier for Noting {
    fn verify<'a>(&'a self, token: &'a str, audience: &'a [String]) -> Verifying<'a> {
        self.1.lock().unwrap_or_else(PoisonError::into_inner).push(token.to_owned());
        self.0.verify(token, audience)
    }
}

fn noting(issuer: &str) -> (Protection, Arc<dyn TokenVerifier>, Seen) {
    let seen = Seen::default();
    let (protection, verifier) = Protection::new(issuer).share_verifier().expect("an issuer");
    let noting: Arc<dyn TokenVerifier> = Arc::new(Noting(verifier, Arc::clone(&seen)));
    (protection.verifier(Arc::clone(&noting)), noting, seen)
}

pub(crate) async fn issuer(server: AuthServer) -> String {
    let bound = server.bind("127.0.0.1:0").await.expect("a port");
    let issuer = bound.issuer();
    tokio::spawn(bound.serve());
    issuer
}

async fn serve(http: HttpServer) -> String {
    let bound = http.bind("127.0.0.1:0").await.expect("a port");
    let url = bound.url();
    tokio::spawn(bound.serve_until(std::future::pending()));
    url
}

/// A server that says who it takes its caller for, and notes the tokens that it is shown.
pub(crate) async fn protected(issuer: &str) -> (String, Seen) {
    let (protection, _, seen) = noting(issuer);
    let who = tool("who").handler(|ctx: Context| async move { ctx.principal().subject().to_owned() });
    let http = Server::new("notes", "1.0.0").tool(who).into_http().expect("a server").protect(protection);
    (serve(http).await, seen)
}

pub(crate) fn entry(url: &str) -> ServerEntry {
    let transport =
        TransportSpec::Http { url: url.to_owned(), headers: Vec::new(), sse: false, socket: None };
    ServerEntry::new("notes", transport, Origin::command_line())
}

/// A folder of the test's own, gone with it.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("contexture-login-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A protected gateway in front of a protected server.
pub(crate) struct Stage {
    /// The gateway.
    pub(crate) url: String,
    pub(crate) issuer: String,
    /// The server behind it, its issuer, and the tokens that it has seen.
    pub(crate) server: String,
    pub(crate) far_issuer: String,
    pub(crate) seen: Seen,
    /// The tokens that the gateway has seen.
    pub(crate) shown: Seen,
    folder: Folder,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        let client = |id| contexture_auth_server::Client::public(id).name(id).redirect(REDIRECT);
        let issuer = issuer(AuthServer::new().client(client("app")).client(client("other"))).await;
        let far_issuer = self::issuer(AuthServer::new()).await;
        let (server, seen) = protected(&far_issuer).await;
        let folder = Folder::new();
        let (url, shown) = gateway(&issuer, &server, &folder).await;
        Self { url, issuer, server, far_issuer, seen, shown, folder }
    }

    /// The gateway is started again, at another address, with what it has kept.
    pub(crate) async fn restart(&mut self) {
        (self.url, self.shown) = gateway(&self.issuer, &self.server, &self.folder).await;
    }

    /// A client that somebody uses, which may or may not be able to send them to URLs.
    pub(crate) async fn client(&self, wishes: Wishes<'_>) -> Client {
        let signs_in = Authorization::visitor(SignsIn(Browser::of(wishes.person)))
            .client_id(wishes.client)
            .store(MemoryStore::new());
        let mut builder = Client::builder()
            .name(wishes.says, "1.0.0")
            .revisions(&[wishes.revision])
            .authorization(signs_in);
        if let Some(elicitation) = wishes.elicitation {
            builder = builder.elicitation(elicitation);
        }
        builder.connect(&self.url).await.expect("connected")
    }
}

async fn gateway(issuer: &str, server: &str, folder: &Folder) -> (String, Seen) {
    let (protection, verifier, shown) = noting(issuer);
    let logins = Logins::for_everybody(Doorkeeper::new(verifier), &folder.0, Arc::new(MemoryStore::new()));
    let gateway = Gateway { logins: Arc::clone(&logins), entry: entry(server) };
    let http = gateway.server().into_http().expect("a server").protect(protection);
    let url = serve(http.route("/login", logins.pages())).await;
    logins.reached_at(&url).expect("on this machine");
    (url, shown)
}

/// What a client is like.
pub(crate) struct Wishes<'a> {
    pub(crate) person: &'a str,
    pub(crate) client: &'a str,
    pub(crate) says: &'a str,
    pub(crate) revision: Revision,
    pub(crate) elicitation: Option<Elicitation>,
}

impl<'a> Wishes<'a> {
    pub(crate) fn of(person: &'a str, revision: Revision) -> Self {
        Self { person, client: "app", says: "the app", revision, elicitation: None }
    }

    pub(crate) fn asked(mut self, elicitation: Elicitation) -> Self {
        self.elicitation = Some(elicitation);
        self
    }
}

/// The person agrees at once and does what `visits` does; links that were given out are sent on.
pub(crate) fn visiting<F>(
    visit: impl Fn(String) -> F + Send + Sync + 'static,
) -> (Elicitation, mpsc::UnboundedReceiver<String>)
where
    F: Future<Output = ElicitAnswer> + Send + 'static,
{
    let (links, given) = mpsc::unbounded_channel();
    let visit = Arc::new(visit);
    let elicitation = Elicitation::new(move |question| {
        let Question::Url { url, .. } = question else { panic!("not a URL: {question:?}") };
        let _ = links.send(url.clone());
        let visit = Arc::clone(&visit);
        async move { visit(url).await }
    });
    (elicitation.urls(), given)
}

pub(crate) fn yes() -> ElicitAnswer {
    ElicitAnswer::Accept(Default::default())
}

/// Somebody who logs in as they should: to the gateway as `near`, to the server behind it as `far`.
pub(crate) fn logging_in(near: &str, far: &str) -> (Elicitation, mpsc::UnboundedReceiver<String>) {
    let (near, far) = (near.to_owned(), far.to_owned());
    visiting(move |link| {
        let (near, far) = (near.clone(), far.clone());
        async move {
            log_in(&link, &near, &far).await;
            yes()
        }
    })
}

/// The whole way of a person who is who they should be.
pub(crate) async fn log_in(link: &str, near: &str, far: &str) -> Browser {
    let mut browser = Browser::of(near);
    let page = browser.open(link).await;
    assert_eq!(page.status, 200, "{page:?}");
    browser.name = far.to_owned();
    let done = browser.press(&page, "agree").await;
    assert!(done.status == 200 && done.page.contains("You are logged in to notes"), "{done:?}");
    browser
}

/// What calling the one tool says.
pub(crate) async fn who(client: &Client) -> Result<String, Error> {
    client.call("who", json!({})).await.map(|reply| reply.text())
}

/// The error of a call that was answered with one.
pub(crate) fn answered(outcome: Result<String, Error>) -> ErrorObject {
    match outcome {
        Err(Error::Remote(error)) => error,
        other => panic!("not an error of the gateway: {other:?}"),
    }
}

pub(crate) fn all(seen: &Seen) -> Vec<String> {
    seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
