//! Subscriptions to changes.
//!
//! In the legacy era every resource is subscribed to by a request, and changes of lists come unasked. In
//! the modern era there is one open `subscriptions/listen`: whenever what is wanted changes, a new one is
//! opened, and the old one is withdrawn when the new one is acknowledged, so that nothing is missed.

use std::collections::BTreeSet;

use tokio::sync::oneshot;

use super::Client;
use super::call::Call;
use super::events::Event;
use super::link::{FOR_EVER, Hears, Outgoing, Waiting};
use super::live::Live;
use super::methods::empty;
use super::payload::{Metadata, Payload};
use crate::model::{ListChangedCapability, Meta, Method, SubscriptionFilter};
use crate::{Error, Result};

/// What is subscribed to.
#[derive(Default)]
pub(super) struct Listening {
    wanted: Wanted,
    /// The open request of the modern era.
    stream: Option<Waiting>,
}

/// What the server is to tell of.
#[derive(Default, Clone)]
struct Wanted {
    uris: BTreeSet<String>,
    lists: bool,
}

impl Client {
    /// Subscribes to changes of a resource; they arrive as
    /// [`Event::ResourceUpdated`].
    pub async fn subscribe(&self, uri: impl Into<String>) -> Result<()> {
        let uri = uri.into();
        let live = self.live();
        live.session()?.permits(Method::ResourcesSubscribe)?;
        let mut listening = self.inner.listening.lock().await;
        let limit = self.policy().subscriptions;
        let mut wanted = listening.wanted.clone();
        if wanted.uris.insert(uri.clone()) && wanted.uris.len() > limit {
            return Err(Error::TooMuch(format!("more than {limit} subscriptions")));
        }
        if live.session()?.rules.has_listen {
            return self.listen(&live, &mut listening, wanted, Some(&uri)).await;
        }
        // Not held while the server is asked: a session that has to be opened anew needs it.
        drop(listening);
        self.resource_request(Method::ResourcesSubscribe, &uri).await?;
        self.inner.listening.lock().await.wanted.uris.insert(uri);
        Ok(())
    }

    /// Ends a subscription.
    pub async fn unsubscribe(&self, uri: &str) -> Result<()> {
        let live = self.live();
        let mut listening = self.inner.listening.lock().await;
        let mut wanted = listening.wanted.clone();
        if !wanted.uris.remove(uri) {
            return Err(Error::Misuse(format!("there is no subscription to {uri:?}")));
        }
        if live.session()?.rules.has_listen {
            return self.listen(&live, &mut listening, wanted, None).await;
        }
        drop(listening);
        self.resource_request(Method::ResourcesUnsubscribe, uri).await?;
        self.inner.listening.lock().await.wanted.uris.remove(uri);
        Ok(())
    }

    /// Subscribes to changes of all lists for which the server announces them. Legacy servers tell of
    /// them anyway.
    pub async fn watch_lists(&self) -> Result<()> {
        let live = self.live();
        let mut listening = self.inner.listening.lock().await;
        let wanted = Wanted { lists: true, ..listening.wanted.clone() };
        if live.session()?.rules.has_listen {
            return self.listen(&live, &mut listening, wanted, None).await;
        }
        listening.wanted = wanted;
        Ok(())
    }

    /// Tells a new process what the old one knew.
    pub(super) async fn restore(&self) -> Result<()> {
        let live = self.live();
        let rules = live.session()?.rules;
        let mut listening = self.inner.listening.lock().await;
        listening.stream = None;
        let wanted = listening.wanted.clone();
        if rules.has_listen {
            return self.listen(&live, &mut listening, wanted, None).await;
        }
        for uri in wanted.uris {
            match self.resource_call(Method::ResourcesSubscribe, &uri).in_this_session().await {
                Err(Error::Remote(_)) => self.lost(&mut listening.wanted, uri),
                subscribed => subscribed?,
            }
        }
        drop(listening);
        match self.hub().log_level() {
            Some(level) if rules.has_set_level => self.log_level_call(level).in_this_session().await,
            Some(level) => self.set_log_level(level).await,
            None => Ok(()),
        }
    }

    /// A resource may vanish; that concerns only its own subscription.
    fn lost(&self, wanted: &mut Wanted, uri: String) {
        tracing::info!(uri, "the server no longer watches this resource");
        wanted.uris.remove(&uri);
        self.hub().emit(Event::SubscriptionLost(uri));
    }

    async fn resource_request(&self, method: Method, uri: &str) -> Result<()> {
        self.resource_call(method, uri).await
    }

    fn resource_call(&self, method: Method, uri: &str) -> Call<()> {
        Call::new(self, method, Payload::new().with("uri", uri), empty)
    }

    /// Opens a stream for what is wanted, and then ends the old one. If the server does not watch `added`,
    /// everything stays as it was.
    async fn listen(
        &self,
        live: &Live,
        listening: &mut Listening,
        mut wanted: Wanted,
        added: Option<&str>,
    ) -> Result<()> {
        let filter = wanted.filter(live)?;
        if filter == SubscriptionFilter::default() {
            *listening = Listening { wanted, stream: None };
            return Ok(());
        }
        let (acknowledged, acknowledgement) = oneshot::channel();
        let payload = Payload::new().with("notifications", &filter)?;
        let text = live.session()?.request_meta(None, &Meta::new(), false);
        let mut stream = live.link.open(Outgoing {
            method: Method::SubscriptionsListen.as_str(),
            payload: &payload,
            meta: Metadata { text, wants_progress: false },
            // Silent for as long as nothing changes.
            patience: FOR_EVER,
            cancellable: true,
            hears: Hears::Nothing,
            must_know: false,
            acknowledged: Some(acknowledged),
            headers: Vec::new(),
        })?;
        let patience = self.policy().patience.idle;
        let honoured = live.link.in_time(patience, async {
            tokio::select! {
                Ok(honoured) = acknowledgement => Ok(Some(honoured)),
                ended = stream.result(|_| {}) => ended.map(|_| None),
            }
        });
        let honoured = honoured.await.ok_or(Error::Timeout(patience))??;
        let honoured = honoured.ok_or_else(|| Error::Closed("the server ended the subscription".into()))?;
        let granted = honoured.resource_subscriptions.unwrap_or_default();
        if let Some(added) = added.filter(|added| !granted.iter().any(|uri| uri == added)) {
            return Err(Error::PeerIncompatible(format!("the server does not watch {added:?}")));
        }
        for uri in wanted.uris.clone().into_iter().filter(|uri| !granted.contains(uri)) {
            self.lost(&mut wanted, uri);
        }
        *listening = Listening { wanted, stream: Some(stream) };
        Ok(())
    }
}

impl Wanted {
    fn filter(&self, live: &Live) -> Result<SubscriptionFilter> {
        let offered = &live.session()?.capabilities;
        let announces = |list: &Option<ListChangedCapability>| {
            (self.lists && list.as_ref().is_some_and(ListChangedCapability::announces)).then_some(true)
        };
        let resources = offered.resources.as_ref().and_then(|resources| resources.list_changed);
        let uris: Vec<String> = self.uris.iter().cloned().collect();
        Ok(SubscriptionFilter {
            tools_list_changed: announces(&offered.tools),
            prompts_list_changed: announces(&offered.prompts),
            resources_list_changed: (self.lists && resources == Some(true)).then_some(true),
            resource_subscriptions: (!uris.is_empty()).then_some(uris),
        })
    }
}
