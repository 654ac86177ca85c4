//! Subscriptions to changes.
//!
//! In the legacy era every resource is subscribed to by a request, and changes of lists come unasked. In
//! the modern era there is one open `subscriptions/listen`: whenever what is wanted changes, a new one is
//! opened, and the old one is withdrawn when the new one is acknowledged, so that nothing is missed.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use tokio::sync::oneshot;

use super::Client;
use super::call::Call;
use super::link::{Outgoing, Waiting};
use super::live::Live;
use super::methods::empty;
use super::payload::Payload;
use crate::engine::Patience;
use crate::model::{ListChangedCapability, Meta, Method, SubscriptionFilter};
use crate::{Error, Result};

/// What is subscribed to.
#[derive(Default)]
pub(super) struct Listening {
    uris: BTreeSet<String>,
    lists: bool,
    /// The open request of the modern era.
    stream: Option<Waiting>,
}

/// An open stream is silent for as long as nothing changes.
const FOR_EVER: Patience = Patience { idle: Duration::MAX, total: Duration::MAX, renewed_by_progress: false };

impl Client {
    /// Subscribes to changes of a resource; they arrive as
    /// [`Event::ResourceUpdated`](super::Event::ResourceUpdated).
    pub async fn subscribe(&self, uri: impl Into<String>) -> Result<()> {
        let uri = uri.into();
        let live = self.live();
        live.session()?.permits(Method::ResourcesSubscribe)?;
        let mut listening = self.inner.listening.lock().await;
        let limit = self.policy().subscriptions;
        if listening.uris.len() >= limit && !listening.uris.contains(&uri) {
            return Err(Error::TooMuch(format!("more than {limit} subscriptions")));
        }
        if !live.session()?.rules.has_listen {
            self.resource_request(Method::ResourcesSubscribe, &uri).await?;
            listening.uris.insert(uri);
            return Ok(());
        }
        let is_new = listening.uris.insert(uri.clone());
        let listened = self.listen(&live, &mut listening).await;
        if listened.is_err() && is_new {
            listening.uris.remove(&uri);
        }
        listened
    }

    /// Ends a subscription.
    pub async fn unsubscribe(&self, uri: &str) -> Result<()> {
        let live = self.live();
        let mut listening = self.inner.listening.lock().await;
        if !listening.uris.remove(uri) {
            return Err(Error::Misuse(format!("there is no subscription to {uri:?}")));
        }
        if live.session()?.rules.has_listen {
            return self.listen(&live, &mut listening).await;
        }
        self.resource_request(Method::ResourcesUnsubscribe, uri).await
    }

    /// Subscribes to changes of all lists for which the server announces them. Legacy servers tell of
    /// them anyway.
    pub async fn watch_lists(&self) -> Result<()> {
        let live = self.live();
        let mut listening = self.inner.listening.lock().await;
        listening.lists = true;
        if live.session()?.rules.has_listen { self.listen(&live, &mut listening).await } else { Ok(()) }
    }

    /// Tells a new process what the old one knew.
    pub(super) async fn restore(&self) -> Result<()> {
        let live = self.live();
        let rules = live.session()?.rules;
        let mut listening = self.inner.listening.lock().await;
        listening.stream = None;
        if rules.has_listen {
            return self.listen(&live, &mut listening).await;
        }
        for uri in listening.uris.clone() {
            self.resource_request(Method::ResourcesSubscribe, &uri).await?;
        }
        drop(listening);
        match self.hub().log_level() {
            Some(level) => self.set_log_level(level).await,
            None => Ok(()),
        }
    }

    async fn resource_request(&self, method: Method, uri: &str) -> Result<()> {
        Call::new(self, method, Payload::new().with("uri", uri), empty).await
    }

    async fn listen(&self, live: &Live, listening: &mut Listening) -> Result<()> {
        let filter = listening.filter(live)?;
        if filter == SubscriptionFilter::default() {
            listening.stream = None;
            return Ok(());
        }
        let (acknowledged, acknowledgement) = oneshot::channel();
        let payload = Payload::new().with("notifications", &filter)?;
        let mut stream = live.link.open(Outgoing {
            method: Cow::Borrowed(Method::SubscriptionsListen.as_str()),
            payload: &payload,
            meta: live.session()?.request_meta(None, &Meta::new()),
            patience: FOR_EVER,
            wants_progress: false,
            cancellable: true,
            acknowledged: Some(acknowledged),
        })?;
        let patience = self.policy().patience.idle;
        let honoured = tokio::select! {
            Ok(honoured) = acknowledgement => Some(honoured),
            ended = stream.result(|_| {}) => { ended?; None }
            () = tokio::time::sleep(patience) => return Err(Error::Timeout(patience)),
        };
        let honoured = honoured.ok_or_else(|| Error::Closed("the server ended the subscription".into()))?;
        let granted = honoured.resource_subscriptions.unwrap_or_default();
        if let Some(refused) = listening.uris.iter().find(|uri| !granted.contains(uri)) {
            return Err(Error::PeerIncompatible(format!("the server does not watch {refused:?}")));
        }
        listening.stream = Some(stream);
        Ok(())
    }
}

impl Listening {
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
