//! A gateway with servers behind it, and clients of either era in front.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use contexture::auth::Secret;
use contexture::client::{Builder, ElicitAnswer, Elicitation, Roots, Sampling};
use contexture::model::{CreateMessageResult, Root, SamplingContent};
use contexture::revision::Era;
use contexture::server::http::{Authorizer, Authorizing, Refused};
use contexture::{Client, Principal, Server};
use contexture_host::config::{Config, Origin, RootsFor, ServerEntry, TransportSpec};
use contexture_host::consent::PolicyConfig;
use contexture_host::{Host, Services};
use tokio::sync::oneshot;

use super::rich;

/// Only a test that fails waits for so long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
pub(crate) const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

/// How something is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Http,
    /// A child behind, memory in front.
    Pipe,
}

/// One way to put a client, the gateway and a server together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pairing {
    pub(crate) client: Era,
    pub(crate) front: Wire,
    pub(crate) server: Era,
    pub(crate) back: Wire,
}

/// All of them, one after the other.
pub(crate) async fn pairings<F: Future<Output = ()>>(story: impl Fn(Pairing) -> F) {
    for client in ERAS {
        for front in [Wire::Http, Wire::Pipe] {
            for server in ERAS {
                for back in [Wire::Http, Wire::Pipe] {
                    let pairing = Pairing { client, front, server, back };
                    let told = tokio::time::timeout(PATIENCE, story(pairing)).await;
                    assert!(told.is_ok(), "no end in {pairing:?}");
                }
            }
        }
    }
}

/// A server that listens until it is dropped.
pub(crate) struct Site {
    pub(crate) url: String,
    _stop: oneshot::Sender<()>,
}

impl Site {
    pub(crate) async fn of(server: Server) -> Self {
        Self::with(server, |http| http).await
    }

    pub(crate) async fn with(
        server: Server,
        change: impl FnOnce(contexture::server::HttpServer) -> contexture::server::HttpServer,
    ) -> Self {
        let http = change(server.into_http().expect("a server that is put together correctly"));
        let bound = http.bind("127.0.0.1:0").await.expect("a port");
        let url = bound.url();
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(bound.serve_until(async { drop(stopped.await) }));
        Self { url, _stop: stop }
    }
}

/// The rich server in a process of its own.
pub(crate) fn child(name: &str, era: Era) -> ServerEntry {
    let env = BTreeMap::from([(
        rich::ROLE.to_owned(),
        Secret::new(if era == Era::Modern { "modern" } else { "legacy" }),
    )]);
    let transport = TransportSpec::Stdio {
        command: std::env::current_exe().expect("this test").to_string_lossy().into_owned(),
        args: ["rich::the_server_itself", "--exact", "--nocapture"].map(str::to_owned).to_vec(),
        env,
        cwd: None,
    };
    ServerEntry::new(name, transport, Origin::command_line())
}

/// A server at an address.
pub(crate) fn at(name: &str, url: &str) -> ServerEntry {
    let transport =
        TransportSpec::Http { url: url.to_owned(), headers: Vec::new(), sse: false, socket: None };
    ServerEntry::new(name, transport, Origin::command_line())
}

/// A configuration that allows everything.
pub(crate) fn config(servers: Vec<ServerEntry>) -> Config {
    let mut config = Config::new(servers);
    config.policy = PolicyConfig::allow_all();
    config
}

/// A gateway at work.
pub(crate) struct Gate {
    pub(crate) host: Arc<Host>,
    site: Site,
    _behind: Option<Site>,
}

impl Gate {
    /// In front of the rich server.
    pub(crate) async fn of(pairing: Pairing) -> Self {
        Self::changed(pairing, |_| {}).await
    }

    pub(crate) async fn changed(pairing: Pairing, change: impl FnOnce(&mut Config)) -> Self {
        let behind = match pairing.back {
            Wire::Http => Some(Site::of(rich::server(pairing.server)).await),
            Wire::Pipe => None,
        };
        let mut entry = match &behind {
            Some(site) => at("up", &site.url),
            None => child("up", pairing.server),
        };
        entry.roots = RootsFor::Client;
        let mut config = config(vec![entry]);
        change(&mut config);
        let mut gate = Self::start(config).await;
        gate._behind = behind;
        gate
    }

    pub(crate) async fn start(config: Config) -> Self {
        Self::with(config, Services::default()).await
    }

    pub(crate) async fn with(config: Config, services: Services) -> Self {
        let host = Host::start(config, services).await.expect("a configuration that makes sense");
        let site = Site::of(host.server()).await;
        Self { host, site, _behind: None }
    }

    /// One that knows people by their tokens, which are their names.
    pub(crate) async fn known(config: Config) -> Self {
        let host = Host::start(config, Services::default()).await.expect("a configuration that makes sense");
        let site = Site::with(host.server(), |http| http.authorizer(ByName)).await;
        Self { host, site, _behind: None }
    }

    /// A client that can be asked everything.
    pub(crate) async fn client(&self, era: Era, front: Wire) -> Client {
        self.connect(able(), era, front).await
    }

    pub(crate) async fn connect(&self, builder: Builder, era: Era, front: Wire) -> Client {
        let builder = builder.revisions(rich::revisions(era));
        let connected = match front {
            Wire::Http => builder.connect(&self.site.url).await,
            Wire::Pipe => contexture::testing::connect_with(self.host.server(), builder).await,
        };
        connected.expect("a connection")
    }
}

/// Everybody is who they say they are.
struct ByName;

impl Authorizer for ByName {
    fn authorize<'a>(&'a self, request: &'a http::request::Parts) -> Authorizing<'a> {
        let header = request.headers.get("authorization").and_then(|value| value.to_str().ok());
        let name = header.and_then(|value| value.strip_prefix("Bearer ")).map(str::to_owned);
        Box::pin(async move {
            name.map(|name| Principal::new("test", name)).ok_or_else(|| Refused::unauthorized("Bearer"))
        })
    }
}

/// A client that can be asked everything, and says what it was asked.
pub(crate) fn able() -> Builder {
    Client::builder()
        .elicitation(Elicitation::new(|question| async move {
            assert!(question.message().starts_with("Server \"up\" asks: "), "{}", question.message());
            let name = match question.message() {
                message if message.ends_with("First?") => "Ada",
                message if message.ends_with("Second?") => "Grace",
                _ => "Alan",
            };
            ElicitAnswer::accept([("name", name)])
        }))
        .sampling(
            Sampling::new(|_| async {
                Ok::<_, String>(CreateMessageResult::new("toy", SamplingContent::text("a model's word")))
            })
            .approve_all(),
        )
        .roots(Roots::new().with(Root::new("file:///project/here")).expect("a root"))
}

/// A client of the person with this name, which is the answer to every question.
pub(crate) fn named(name: &'static str) -> Builder {
    let elicitation = Elicitation::new(move |_| async move { ElicitAnswer::accept([("name", name)]) });
    Client::builder().header("authorization", format!("Bearer {name}")).elicitation(elicitation)
}

/// The error of a call that must fail.
pub(crate) fn refused<T: std::fmt::Debug>(outcome: contexture::Result<T>) -> contexture::model::ErrorObject {
    match outcome {
        Err(contexture::Error::Remote(error)) => error,
        other => panic!("not an error of the protocol: {other:?}"),
    }
}

/// Looks again and again, until it is so.
pub(crate) async fn until<T, F: Future<Output = Option<T>>>(what: &str, look: impl Fn() -> F) -> T {
    let begun = std::time::Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "never: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
