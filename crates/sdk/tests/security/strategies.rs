//! Ways to prove who asks, other than those of the specification: none at all, and a key of one's own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use contexture::client::{Builder, Challenged, Credentials, Request, Showing};
use contexture::revision::Revision;
use contexture::server::HttpServer;
use contexture::server::http::{Authorizer, Authorizing, Refused};
use contexture::testing::{Wiring, stories};
use contexture::{Client, Context, Error, Principal, Server, tool};
use tokio::sync::oneshot;

/// A server that listens for as long as this lives.
pub(crate) struct Open {
    pub(crate) url: String,
    _stop: oneshot::Sender<()>,
}

impl Open {
    pub(crate) async fn new(server: Server, change: impl FnOnce(HttpServer) -> HttpServer) -> Self {
        let http = change(server.into_http().expect("a server that is put together correctly"));
        let bound = http.bind("127.0.0.1:0").await.expect("a port");
        let url = bound.url();
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(bound.serve_until(async { drop(stopped.await) }));
        Self { url, _stop: stop }
    }
}

/// Knows people by their keys.
pub(crate) struct Keys;

impl Authorizer for Keys {
    fn authorize<'a>(&'a self, head: &'a http::request::Parts) -> Authorizing<'a> {
        let key = head.headers.get("x-api-key").and_then(|key| key.to_str().ok());
        let known = key.and_then(|key| key.strip_prefix("key-of-"));
        let known = known.map(|name| Principal::new("keys", name));
        Box::pin(async move { known.ok_or_else(|| Refused::unauthorized("ApiKey realm=\"shop\"")) })
    }
}

/// Has a key that is no longer good, and finds another as soon as it hears so.
#[derive(Default)]
struct Renewing(Arc<AtomicUsize>);

impl Credentials for Renewing {
    fn show<'a>(&'a self, _: &'a Request<'a>) -> Showing<'a, http::HeaderMap> {
        let key = if self.0.load(Ordering::Relaxed) == 0 { "an old key" } else { "key-of-ada" };
        let header = http::HeaderName::from_static("x-api-key");
        Box::pin(async move { Ok([(header, http::HeaderValue::from_static(key))].into_iter().collect()) })
    }

    fn refused<'a>(&'a self, refusal: &'a Challenged) -> Showing<'a, bool> {
        assert_eq!(refusal.challenges().collect::<Vec<_>>(), ["ApiKey realm=\"shop\""]);
        let first = self.0.fetch_add(1, Ordering::Relaxed) == 0;
        Box::pin(async move { Ok(first) })
    }
}

/// Says who calls, and whether anything was shown to prove it.
fn who(ran: &Arc<AtomicUsize>) -> Server {
    let ran = Arc::clone(ran);
    let who = tool("who").handler(move |ctx: Context| {
        ran.fetch_add(1, Ordering::Relaxed);
        async move {
            let proof = ctx.headers().is_some_and(|headers| headers.contains_key("authorization"));
            let who = match ctx.principal() {
                who if who.is_anonymous() => "nobody",
                who => who.subject(),
            };
            format!("{who}, {}", if proof { "with a token" } else { "without a token" })
        }
    });
    Server::new("shop", "1.0.0").tool(who)
}

/// The features of this library that know OAuth can be left out: `cargo xtask test` builds it without them.
// covers: AUTH-OPTIONAL
#[tokio::test]
async fn nobody_has_to_prove_anything_where_nothing_is_protected() {
    let ran = Arc::new(AtomicUsize::new(0));
    stories(
        || who(&ran),
        Client::builder,
        async |story| {
            let reply = story.client.call("who", ()).await.expect("a reply");
            // Whoever has the other end of a pipe is whoever has started this.
            let who = if story.wiring == Wiring::Http { "nobody" } else { "local" };
            assert_eq!(reply.text(), format!("{who}, without a token"), "{}", story.revision);
        },
    )
    .await
    .expect("all stories begin");
    let open = Open::new(who(&ran), |http| http).await;
    for revision in Revision::ALL {
        let client = Client::builder().revisions(&[revision]).connect(open.url.clone()).await;
        let reply = client.expect("connected").call("who", ()).await.expect("a reply");
        assert_eq!(reply.text(), "nobody, without a token", "{revision}");
    }
}

// covers: AUTH-CUSTOM-STRATEGY
#[tokio::test]
async fn a_key_of_ones_own_is_carried_from_end_to_end() {
    let ran = Arc::new(AtomicUsize::new(0));
    let open = Open::new(who(&ran), |http| http.authorizer(Keys)).await;
    let mut doors: Vec<(Revision, String)> =
        Revision::ALL.into_iter().map(|revision| (revision, open.url.clone())).collect();
    // The oldest revision has a transport of its own, too.
    doors.push((Revision::V2024_11_05, open.url.replace("/mcp", "/sse")));
    for (revision, url) in doors {
        let base = || Client::builder().revisions(&[revision]);
        ran.store(0, Ordering::Relaxed);
        let refused = async |builder: Builder| {
            let error = builder.connect(url.clone()).await.expect_err("refused");
            assert!(matches!(&error, Error::Http(refusal) if refusal.status == 401), "{url}: {error:?}");
        };
        refused(base()).await;
        refused(base().header("x-api-key", "key-from-ada")).await;
        assert_eq!(ran.load(Ordering::Relaxed), 0, "no handler ran");
        for name in ["ada", "bob"] {
            let client = base().header("x-api-key", format!("key-of-{name}")).connect(url.clone()).await;
            let client = client.unwrap_or_else(|error| panic!("{revision} at {url}: {error}"));
            for _ in 0..2 {
                let reply = client.call("who", ()).await.expect("a reply");
                assert_eq!(reply.text(), format!("{name}, without a token"), "{revision}");
            }
        }
    }
}

// covers: AUTH-CUSTOM-STRATEGY
#[tokio::test]
async fn a_key_of_ones_own_may_change_on_the_way() {
    let ran = Arc::new(AtomicUsize::new(0));
    let open = Open::new(who(&ran), |http| http.authorizer(Keys)).await;
    for revision in Revision::ALL {
        let refused = Arc::new(AtomicUsize::new(0));
        let builder = Client::builder().revisions(&[revision]).credentials(Renewing(Arc::clone(&refused)));
        let client = builder.connect(open.url.clone()).await.expect("connected with another key");
        let reply = client.call("who", ()).await.expect("a reply");
        assert_eq!(reply.text(), "ada, without a token", "{revision}");
        assert_eq!(refused.load(Ordering::Relaxed), 1, "{revision}: it was asked for once");
    }
}
