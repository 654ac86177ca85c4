//! What a server offers: fetched once for all who want to know, and again when it says that it changed.
//!
//! Lists never depend on who asks, unless the login does. At most one fetch runs and one waits, however often a server says
//! that its lists changed. While a server that died is being revived its last offer stands; if that fails, it offers nothing.

use std::sync::{Arc, Weak};
use std::time::Duration;

use contexture::model::{Cursor, Method};
use contexture::server::BoxFuture;
use contexture::{Error, Principal};
use futures_util::FutureExt;
use futures_util::future::Shared;
use serde_json::value::{RawValue, to_raw_value};
use tokio::time::Instant;

use super::connection::{Connection, Lease};
use super::{Audience, CIRCLES, Changed, State, Unavailable, Upstream, connect, lock};
use crate::catalog::Offer;

/// Between two fetches, however often a server says that something changed.
const PAUSE: Duration = Duration::from_millis(250);
/// Before a server that died is started only to see whether it can be.
const BEFORE_REVIVAL: Duration = Duration::from_secs(1);

type Fetching = Shared<BoxFuture<Result<Arc<Offer>, Unavailable>>>;

/// What is known of the lists of one circle.
#[derive(Default)]
pub(super) struct Listing {
    offer: Option<Result<Arc<Offer>, Unavailable>>,
    fetching: Option<Fetching>,
    /// It changed while it was being fetched: over which connection that was said.
    again: Option<Weak<Connection>>,
    lister: Weak<Connection>,
    reviving: bool,
    /// What the server said has changed, since it was last fetched. Clients are told of it also if nothing is different
    /// in the end: it was, and they may have looked meanwhile.
    announced: Changed,
}

impl Upstream {
    /// What it offers to these people. Waits for a server that is being started; one that failed is not waited for.
    ///
    /// # Errors
    /// When it cannot be had, and why.
    pub async fn offer(self: &Arc<Self>, who: &Audience) -> Result<Arc<Offer>, Unavailable> {
        self.may_start()?;
        let fetching = {
            let mut circles = lock(&self.circles);
            if circles.len() >= CIRCLES && !circles.contains_key(&who.circle()) {
                circles.retain(|circle, known| circle.is_none() || known.listing.fetching.is_some());
            }
            let listing = &mut circles.entry(who.circle()).or_default().listing;
            match (&listing.offer, &listing.fetching) {
                (Some(known), _) => return known.clone(),
                (None, Some(fetching)) if fetching.peek().is_none() => fetching.clone(),
                (None, _) => listing.fetching.insert(self.fetch(who.listing(&self.entry), None)).clone(),
            }
        };
        fetching.await
    }

    /// Tries once more what failed, unless it has failed too often; says what it offers, or why it cannot.
    pub(crate) async fn try_again(self: &Arc<Self>, who: &Audience) -> Result<(), Unavailable> {
        self.may_start()?;
        self.refetch(who, None).await
    }

    /// What is known of it now, without waiting.
    pub fn known_offer(&self, circle: &Option<Principal>) -> Option<Result<Arc<Offer>, Unavailable>> {
        if let Err(unavailable) = self.may_start() {
            return Some(Err(unavailable));
        }
        lock(&self.circles).get(circle)?.listing.offer.clone()
    }

    /// What was known for these people is asked anew when it is next needed.
    pub(crate) fn forget_offer(&self, circle: &Option<Principal>) {
        if let Some(circle) = lock(&self.circles).get_mut(circle) {
            circle.listing.offer = None;
            if circle.listing.fetching.as_ref().is_some_and(|fetching| fetching.peek().is_none()) {
                // What is on its way is of before.
                circle.listing.again.get_or_insert_default();
            }
        }
    }

    fn fetch(self: &Arc<Self>, who: Audience, over: Option<Lease>) -> Fetching {
        let upstream = Arc::clone(self);
        let task = tokio::spawn(async move { upstream.fetch_until_settled(who, over).await });
        let name = self.entry.name.clone();
        let fetching: BoxFuture<_> = Box::pin(async move {
            task.await
                .unwrap_or_else(|_| Err(Unavailable::new(&name, State::Failed, "listing was broken off")))
        });
        fetching.shared()
    }

    async fn fetch_until_settled(
        self: Arc<Self>,
        who: Audience,
        mut over: Option<Lease>,
    ) -> Result<Arc<Offer>, Unavailable> {
        loop {
            let fetched = self.fetch_once(&who, over.take()).await;
            let again = self.settle(&who, fetched.clone());
            match again {
                Some(connection) => {
                    tokio::time::sleep(PAUSE).await;
                    over =
                        connection.upgrade().filter(|it| it.is_usable()).map(|connection| connection.hold());
                }
                None => return fetched,
            }
        }
    }

    async fn fetch_once(
        self: &Arc<Self>,
        who: &Audience,
        over: Option<Lease>,
    ) -> Result<Arc<Offer>, Unavailable> {
        let lease = match over {
            Some(lease) => lease,
            None => self.lease(&who.listing(&self.entry)).await?,
        };
        if let Some(circle) = lock(&self.circles).get_mut(&who.circle()) {
            circle.listing.lister = Arc::downgrade(lease.connection());
        }
        match connect::in_time(self.entry.call_time, list_all(&lease)).await {
            Ok(offer) => {
                let offer = Arc::new(offer);
                self.know_tools(&offer);
                Ok(offer)
            }
            Err(error) => {
                self.suspect(&lease, &error);
                Err(self.failed(&who.circle(), error))
            }
        }
    }

    /// Keeps what was fetched, and says whether it has to be fetched once more.
    fn settle(
        self: &Arc<Self>,
        who: &Audience,
        fetched: Result<Arc<Offer>, Unavailable>,
    ) -> Option<Weak<Connection>> {
        let mut circles = lock(&self.circles);
        let circle = circles.entry(who.circle()).or_default();
        if fetched.is_ok() {
            circle.circuit.succeeded();
        }
        // A server that was lost while it was asked gets another chance before what it offers vanishes.
        let stands =
            fetched.is_err() && !circle.listing.reviving && matches!(circle.listing.offer, Some(Ok(_)));
        let changed = match (&circle.listing.offer, &fetched) {
            (Some(Ok(before)), Ok(now)) => before.differs(now),
            // Nothing was there, and nothing is.
            _ if stands => Changed { tools: false, prompts: false, resources: false },
            (Some(Err(_)) | None, Err(_)) => Changed { tools: false, prompts: false, resources: false },
            _ => Changed::ALL,
        };
        let changed = changed.and(std::mem::take(&mut circle.listing.announced));
        let failed = fetched.as_ref().is_err_and(|unavailable| unavailable.state != State::LoginNeeded);
        let ready = fetched.is_ok();
        if !stands {
            circle.listing.offer = Some(fetched);
        }
        let again = circle.listing.again.take();
        if again.is_none() {
            circle.listing.fetching = None;
        }
        drop(circles);
        if ready {
            self.tell(State::Ready, None);
        }
        if (changed.is_some() || !ready)
            && let Some(observer) = self.around.observer.upgrade()
        {
            observer.offer_changed(changed);
        }
        if failed && again.is_none() {
            // Whoever asked first need not be there any more.
            self.revive(who.listing(&self.entry));
        }
        again
    }

    /// Tries a server that failed again and again, in the background, until it is there.
    fn revive(self: &Arc<Self>, who: Audience) {
        {
            let mut circles = lock(&self.circles);
            let listing = &mut circles.entry(who.circle()).or_default().listing;
            if who.personal {
                // Whoever logged in there may never come back: the next list tries.
                listing.offer = None;
                return;
            }
            if std::mem::replace(&mut listing.reviving, true) {
                return;
            }
        }
        let upstream = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                let Some(this) = upstream.upgrade() else { return };
                let wait =
                    lock(&this.circles).get(&who.circle()).and_then(|it| it.circuit.wait(Instant::now()));
                drop(this);
                tokio::time::sleep(wait.unwrap_or_default().max(BEFORE_REVIVAL)).await;
                let Some(this) = upstream.upgrade() else { return };
                if this.may_start().is_err() {
                    return;
                }
                if this.refetch(&who, None).await.is_ok() {
                    break;
                }
            }
        });
    }

    /// Fetches the lists, unless somebody is doing it; says what came of it.
    async fn refetch(
        self: &Arc<Self>,
        who: &Audience,
        over: Option<&Arc<Connection>>,
    ) -> Result<(), Unavailable> {
        let (fetching, _) = self.fetching(who, over);
        self.fetched(who, fetching).await
    }

    /// A fetch that is under way, and will be done once more, or a new one; and whether it is that.
    fn fetching(self: &Arc<Self>, who: &Audience, over: Option<&Arc<Connection>>) -> (Fetching, bool) {
        let mut circles = lock(&self.circles);
        let listing = &mut circles.entry(who.circle()).or_default().listing;
        match &listing.fetching {
            Some(fetching) if fetching.peek().is_none() => {
                if let Some(over) = over {
                    listing.again = Some(Arc::downgrade(over));
                }
                (fetching.clone(), false)
            }
            _ => {
                let lease = over.map(|connection| connection.hold());
                (listing.fetching.insert(self.fetch(who.clone(), lease)).clone(), true)
            }
        }
    }

    async fn fetched(&self, who: &Audience, fetching: Fetching) -> Result<(), Unavailable> {
        let fetched = fetching.await;
        if let Some(circle) = lock(&self.circles).get_mut(&who.circle())
            && fetched.is_ok()
        {
            circle.listing.reviving = false;
        }
        fetched.map(drop)
    }

    /// A connection says that a list changed: it is fetched over that one, which knows, unless somebody's login is shown on it
    /// and the lists are everybody's.
    pub(super) fn lists_changed(self: &Arc<Self>, connection: &Arc<Connection>, announced: Changed) {
        let who = self.those_of(connection);
        if let Some(circle) = lock(&self.circles).get_mut(&who.circle()) {
            circle.listing.announced = circle.listing.announced.and(announced);
        }
        let is_theirs = connection.key.principal.as_ref().is_none_or(|principal| *principal == who.principal);
        let (fetching, is_new) = self.fetching(&who, is_theirs.then_some(connection));
        if !is_new {
            // However often it says so, one waits for what comes of it.
            return;
        }
        let upstream = Arc::clone(self);
        tokio::spawn(async move {
            if let Err(unavailable) = upstream.fetched(&who, fetching).await {
                tracing::debug!(%unavailable, "changed lists could not be fetched");
            }
        });
    }

    /// There is a new connection. What was known of the lists may be from another life of the server.
    pub(super) fn becomes_lister(self: &Arc<Self>, who: &Audience) {
        let stale = {
            let mut circles = lock(&self.circles);
            let listing = &mut circles.entry(who.circle()).or_default().listing;
            listing.offer.is_some() && listing.fetching.is_none() && listing.lister.strong_count() == 0
        };
        if stale {
            let (upstream, who) = (Arc::clone(self), who.listing(&self.entry));
            tokio::spawn(async move { upstream.refetch(&who, None).await.ok() });
        }
    }

    /// A connection is gone; if the lists came over it, nobody would hear any more that they change.
    pub(super) fn lister_lost(self: &Arc<Self>, connection: &Arc<Connection>) {
        if self.is_lister(connection) {
            self.revive(self.those_of(connection));
        }
    }

    /// Whether the lists came over it.
    pub(super) fn is_lister(&self, connection: &Arc<Connection>) -> bool {
        let circles = lock(&self.circles);
        let circle = circles.get(&connection.circle);
        circle.is_some_and(|circle| std::ptr::eq(circle.listing.lister.as_ptr(), Arc::as_ptr(connection)))
    }

    /// Those whose connection it is, as far as lists go.
    fn those_of(&self, connection: &Connection) -> Audience {
        Audience::of_connection(&self.entry, connection.key.principal.as_ref(), connection.circle.is_some())
    }

    /// Headers of modern requests repeat some arguments; which, says the definition.
    fn know_tools(&self, offer: &Offer) {
        let tools: Vec<_> = offer.mirroring_tools();
        if !tools.is_empty() {
            lock(&self.table).all().for_each(|connection| connection.client().know_tools(&tools));
        }
    }

    /// A new connection learns what others have listed.
    pub(super) fn teach(&self, connection: &Connection) {
        if let Some(Ok(offer)) = self.known_offer(&connection.circle) {
            let tools = offer.mirroring_tools();
            if !tools.is_empty() {
                connection.client().know_tools(&tools);
            }
        }
    }
}

/// All lists that the server declares, page by page. Lists that a server declares and does not have are empty.
async fn list_all(lease: &Lease) -> Result<Offer, Error> {
    let client = lease.client();
    let capabilities = client.server_capabilities();
    let mut offer = Offer::new(client.revision(), capabilities.clone(), client.instructions());
    let mut methods = Vec::new();
    methods.extend(capabilities.tools.is_some().then_some(Method::ToolsList));
    methods.extend(capabilities.prompts.is_some().then_some(Method::PromptsList));
    if capabilities.resources.is_some() {
        methods.extend([Method::ResourcesList, Method::ResourcesTemplatesList]);
    }
    for method in methods {
        let mut cursor: Option<Cursor> = None;
        loop {
            let params = cursor.take().map(|cursor| page(&cursor)).transpose()?;
            let forwarded = match client.forward(method, params.as_deref()).await {
                // Templates came late to many servers, though they declare resources.
                Err(Error::Remote(error)) => {
                    tracing::info!(server = lease.desk().entry.name, method = method.as_str(), %error, "no list");
                    break;
                }
                forwarded => forwarded?,
            };
            cursor = offer.take(method, &forwarded.result).map_err(Error::PeerMisbehaved)?;
            if cursor.is_none() {
                break;
            }
        }
    }
    Ok(offer)
}

fn page(cursor: &Cursor) -> Result<Box<RawValue>, Error> {
    to_raw_value(&serde_json::json!({ "cursor": cursor })).map_err(|error| Error::Misuse(error.to_string()))
}
