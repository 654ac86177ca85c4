//! Which catalog somebody sees, kept until something in it changes.
//!
//! All see the same, except those who have a login of their own at some server, and unless rules tell callers apart. What is shown
//! with a login is shown to clients that the person has agreed to; to others, what everybody sees. Lists wait a short while for
//! servers that are being started, and are told to have changed when these come later. Calls wait longer, if what they name is
//! not there.

use std::sync::Arc;

use contexture::model::{ErrorObject, Tool};
use contexture::{Context, Principal};
use futures_util::future::join_all;

use super::views::Viewer;
use super::{Gateway, faults};
use crate::catalog::{Catalog, Offer, Part};
use crate::config::LoginFor;
use crate::login;
use crate::names;
use crate::upstream::{Audience, State, Unavailable, Upstream};

pub(crate) use crate::upstream::Changed;

/// What somebody sees.
pub(crate) struct View {
    pub(crate) catalog: Catalog,
    /// The servers of its parts, in their order.
    pub(super) servers: Vec<Served>,
    /// Some servers have not told yet what they offer.
    pub(super) partial: bool,
}

pub(super) struct Served {
    pub(super) upstream: Arc<Upstream>,
    /// What its names and URIs begin with here, if they are changed.
    pub(super) slug: Option<String>,
    /// What it offers is this principal's own.
    pub(super) personal: bool,
    /// Why it offers nothing.
    pub(super) unavailable: Option<Unavailable>,
    /// It wants a login before it tells anything: all that it offers is that.
    pub(super) only_login: bool,
}

impl Gateway {
    pub(super) fn viewer(&self, principal: &Principal) -> Viewer {
        let client = self.logins.as_ref().map(|logins| logins.client_of(principal)).unwrap_or_default();
        Viewer { principal: principal.identity(), client }
    }

    /// What this client sees. Does not wait longer for slow servers than the configuration says.
    pub(super) async fn view(self: &Arc<Self>, context: &Context) -> Arc<View> {
        let viewer = self.viewer(context.principal());
        if let Some(view) =
            self.catalogs.ready(&viewer, self.logins.is_some(), self.consent.tells_callers_apart())
        {
            return view;
        }
        let grace = self.limits().list_grace;
        let logins = self.logins_of(context.principal()).await;
        let waits = self.wanted(context, &logins).await;
        // Whoever comes later is told of by a change.
        let _ = tokio::time::timeout(grace, join_all(waits)).await;
        self.build(context, &logins)
    }

    /// The same for lists, which would be empty where the only server there is, shown as it is, is not there.
    ///
    /// # Errors
    /// What calls to that server are told.
    pub(super) async fn view_of_one(self: &Arc<Self>, context: &Context) -> Result<Arc<View>, ErrorObject> {
        let view = self.view(context).await;
        let Some((served, unavailable)) = self.only().and_then(|only| view.gone(&only)) else {
            return Ok(view);
        };
        let who = self.audience(context, served.upstream.entry(), served.personal);
        let tried = tokio::time::timeout(self.limits().list_grace, served.upstream.try_again(&who)).await;
        match tried.unwrap_or_else(|_| Err(unavailable.clone())) {
            Ok(()) => Ok(self.view(context).await),
            Err(unavailable) => Err(faults::unavailable(&unavailable).error),
        }
    }

    /// The same as [`view`](Self::view), but having waited for all servers that are being started.
    async fn whole_view(self: &Arc<Self>, context: &Context) -> Arc<View> {
        let logins = self.logins_of(context.principal()).await;
        join_all(self.wanted(context, &logins).await).await;
        self.build(context, &logins)
    }

    /// Finds something, and waits for servers that might have it.
    ///
    /// # Errors
    /// `unknown`, unless it belongs to a server that is not available.
    pub(super) async fn find<T>(
        self: &Arc<Self>,
        context: &Context,
        name: &str,
        look: impl Fn(&View) -> Option<T>,
        unknown: impl FnOnce() -> ErrorObject,
    ) -> Result<(T, Arc<View>), ErrorObject> {
        let mut view = self.view(context).await;
        if let Some(found) = look(&view) {
            return Ok((found, view));
        }
        if view.partial {
            view = self.whole_view(context).await;
            if let Some(found) = look(&view) {
                return Ok((found, view));
            }
        }
        let Some(served) = view.absent(name) else { return Err(unknown()) };
        let who = self.audience(context, served.upstream.entry(), served.personal);
        if let Err(unavailable) = served.upstream.try_again(&who).await {
            return Err(faults::unavailable(&unavailable).error);
        }
        let view = self.view(context).await;
        look(&view).map(|found| (found, view)).ok_or_else(unknown)
    }

    /// The servers at which somebody has a login of their own that the client may use which they use.
    pub(crate) async fn logins_of(&self, principal: &Principal) -> Vec<String> {
        if self.logins.is_none() && !self.consent.tells_callers_apart() {
            return Vec::new();
        }
        let viewer = self.viewer(principal);
        if let Some(known) = self.catalogs.logins(&viewer) {
            return known;
        }
        let mut own = Vec::new();
        for upstream in &*self.upstreams() {
            let entry = upstream.entry();
            if let Some(logins) = &self.logins
                && matches!(entry.login, LoginFor::User(_))
                && entry.enabled()
                && logins.has_login(entry, principal).await
                && logins.permits(entry, principal).await.is_ok()
            {
                own.push(entry.name.clone());
            }
        }
        self.catalogs.remember(viewer, &own);
        own
    }

    /// What is still to be waited for.
    async fn wanted(
        self: &Arc<Self>,
        context: &Context,
        logins: &[String],
    ) -> Vec<impl Future<Output = ()> + Send + 'static> {
        let upstreams = self.upstreams();
        let wanted = upstreams.iter().map(|upstream| {
            let personal = logins.contains(&upstream.entry().name);
            (Arc::clone(upstream), self.audience(context, upstream.entry(), personal))
        });
        let unknown = wanted.filter(|(upstream, who)| upstream.known_offer(&who.circle()).is_none());
        unknown
            .map(|(upstream, who): (Arc<Upstream>, Audience)| async move {
                // One whose lists never stop changing keeps nobody waiting for good.
                let most = upstream.entry().startup_time + upstream.entry().call_time;
                let _ = tokio::time::timeout(most, upstream.offer(&who)).await;
            })
            .collect()
    }

    fn build(&self, context: &Context, logins: &[String]) -> Arc<View> {
        let generation = self.catalogs.generation();
        let viewer = self.viewer(context.principal());
        let mut partial = false;
        let (mut servers, mut parts) = (Vec::new(), Vec::new());
        for upstream in &*self.upstreams() {
            let entry = upstream.entry();
            let personal = logins.contains(&entry.name);
            let known = upstream.known_offer(&personal.then(|| viewer.principal.clone()));
            let starting = || Unavailable::starting(&entry.name);
            partial |= known.is_none();
            let known = known.unwrap_or_else(|| Err(starting()));
            let wants_login =
                known.as_ref().is_err_and(|it| it.state == State::LoginNeeded) && self.logins.is_some();
            let offer = match &known {
                Ok(offer) => Ok(Arc::clone(offer)),
                Err(_) if wants_login => Ok(Arc::new(login_only(&login::tool(entry)))),
                Err(unavailable) => Err(unavailable.why.clone()),
            };
            parts.push(Part { entry: Arc::clone(entry), offer, personal: personal || wants_login });
            servers.push(Served {
                upstream: Arc::clone(upstream),
                slug: entry.prefix.then(|| names::slug(&entry.name)),
                personal,
                unavailable: known.err(),
                only_login: wants_login,
            });
        }
        let last = self.catalogs.last(&viewer);
        let catalog = Catalog::build_after(parts, last.as_ref().map(|last| &last.catalog));
        let catalog = catalog.as_seen_by(&viewer.principal, &self.consent);
        let view = Arc::new(View { catalog, servers, partial });
        self.catalogs.tell(view.catalog.alerts());
        let apart = self.consent.tells_callers_apart();
        self.catalogs.keep(&viewer, &view, generation, apart, !logins.is_empty());
        view
    }

    /// Somebody has a login now where there was none, or has agreed to another client of theirs.
    pub(super) fn logged_in(&self, person: &Principal, url: &str) {
        self.catalogs.forget_person(person);
        for upstream in self.upstreams().iter().filter(|upstream| login::is_at(upstream.entry(), url)) {
            upstream.forget_offer(&Some(person.identity()));
            if *person == Principal::local() {
                // Who is alone here sees what everybody sees.
                upstream.forget_offer(&None);
            }
        }
        self.changed(Changed::ALL);
    }
}

impl View {
    /// This server, if it has failed and so offers nothing, and why. One that is being started is told of by a change.
    fn gone(&self, upstream: &Arc<Upstream>) -> Option<(&Served, &Unavailable)> {
        let served = self.servers.iter().find(|served| Arc::ptr_eq(&served.upstream, upstream))?;
        let unavailable = served.unavailable.as_ref().filter(|it| it.state != State::Starting)?;
        (!served.only_login).then_some((served, unavailable))
    }

    /// The server that something of this name would belong to, if that shows nothing before a login.
    pub(super) fn locked(&self, name: &str) -> Option<&Arc<Upstream>> {
        let alone = || (self.servers.len() == 1).then_some(0);
        let served = self.servers.get(self.catalog.owner(name).or_else(alone)?)?;
        served.only_login.then_some(&served.upstream)
    }

    /// The server that something of this name would belong to, if that is why it is not there.
    fn absent(&self, name: &str) -> Option<&Served> {
        let by_name = self.catalog.absent(name).and_then(|(entry, _)| {
            self.servers.iter().find(|served| served.upstream.entry().name == entry.name)
        });
        let unavailable =
            |served: &'_ Served| served.unavailable.is_some() && served.upstream.entry().enabled();
        // Names that are left alone do not say whose they are; if one such server is missing, it is likely that one's.
        let alone =
            || self.servers.iter().find(|served| !served.upstream.entry().prefix && unavailable(served));
        by_name.or_else(alone)
    }
}

/// All that a server offers to those who are not logged in yet.
fn login_only(tool: &Tool) -> Offer {
    let mut offer = Offer::new(contexture::revision::Revision::NEWEST_LEGACY, Default::default(), None);
    let page = serde_json::json!({ "tools": [tool] }).to_string();
    if let Err(error) = offer.take(contexture::model::Method::ToolsList, page.as_bytes()) {
        tracing::error!(error, "the login tool could not be offered");
    }
    offer
}
