//! What a server tells without being asked.
//!
//! A notification that is malformed, comes too often or belongs to nothing of ours is dropped and
//! counted. None is ever answered.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::de::DeserializeOwned;

use super::connection::Connection;
use super::events::Event;
use super::link::count;
use crate::json_rpc::{Notification, RequestId};
use crate::model::{
    CancelledParams, ElicitationCompleteParams, LoggingMessageParams, Meta, Method, ProgressParams,
    ResourceUpdatedParams, SubscriptionsAcknowledgedParams,
};

impl Connection {
    /// Acts on a notification; `false` if it was dropped.
    pub(super) fn notified(&mut self, notification: &Notification<'_>, of: Option<&RequestId>) -> bool {
        let Some(method) = Method::parse(&notification.method) else { return false };
        let known = self.link.session.get().is_none_or(|session| session.rules.server_may_notify(method));
        if !known || !self.is_ours(notification, method) {
            return false;
        }
        self.act(method, notification.params.unwrap_or("{}"), of).is_some()
    }

    fn act(&mut self, method: Method, params: &str, of: Option<&RequestId>) -> Option<()> {
        match method {
            Method::Progress => {
                self.within_rate()?;
                let progress: ProgressParams = read(params)?;
                self.link.progress(progress).then_some(())
            }
            Method::LogMessage => {
                if of.is_none() {
                    count(&self.link.counters.unasked);
                }
                self.within_rate()?;
                self.log(read(params)?, of)
            }
            Method::Cancelled => {
                self.withdrawn(read::<CancelledParams>(params)?);
                Some(())
            }
            Method::SubscriptionsAcknowledged => {
                let params: SubscriptionsAcknowledgedParams = read(params)?;
                let id = params.meta.as_ref().and_then(Meta::subscription_id)?;
                self.link.acknowledge(&id, params.notifications).then_some(())
            }
            method => self.changed(method, params),
        }
    }

    fn changed(&mut self, method: Method, params: &str) -> Option<()> {
        let event = match method {
            Method::ToolsListChanged => {
                self.hub.cache.forget(Method::ToolsList);
                self.hub.tools.forget();
                Event::ToolsChanged
            }
            Method::PromptsListChanged => {
                self.hub.cache.forget(Method::PromptsList);
                self.hub.prompts.forget();
                Event::PromptsChanged
            }
            Method::ResourcesListChanged => {
                self.hub.cache.forget(Method::ResourcesList);
                self.hub.cache.forget(Method::ResourcesTemplatesList);
                Event::ResourcesChanged
            }
            Method::ResourcesUpdated => {
                let params: ResourceUpdatedParams = read(params)?;
                self.hub.cache.forget(Method::ResourcesRead);
                Event::ResourceUpdated(params.uri)
            }
            Method::ElicitationComplete => {
                Event::ElicitationComplete(read::<ElicitationCompleteParams>(params)?.elicitation_id)
            }
            _ => return None,
        };
        self.hub.emit(event);
        Some(())
    }

    /// What one call hears is said to nobody else.
    fn log(&mut self, message: LoggingMessageParams, of: Option<&RequestId>) -> Option<()> {
        let Err(message) = self.link.log(of, message) else { return Some(()) };
        if let (Some(on_log), Some(session)) = (&self.hub.config.on_log, self.link.session.get()) {
            // A hook runs on the connection's task, which belongs to everybody.
            let heard = catch_unwind(AssertUnwindSafe(|| on_log(&session.server, &message)));
            if heard.is_err() {
                tracing::error!("the hook for log messages panicked");
            }
        }
        self.hub.emit(Event::Log(message));
        Some(())
    }

    fn within_rate(&mut self) -> Option<()> {
        self.allowance.take(self.link.now()).then_some(())
    }

    /// A notification that names a subscription must name one that is open.
    fn is_ours(&self, notification: &Notification<'_>, method: Method) -> bool {
        if matches!(method, Method::Cancelled | Method::SubscriptionsAcknowledged) {
            return true;
        }
        let meta = notification.meta.and_then(|meta| serde_json::from_str::<Meta>(meta).ok());
        let subscription = meta.as_ref().and_then(Meta::subscription_id);
        subscription.is_none_or(|id| self.link.is_listening(&id))
    }
}

fn read<T: DeserializeOwned>(params: &str) -> Option<T> {
    serde_json::from_str(params).inspect_err(|error| tracing::debug!(%error, "malformed notification")).ok()
}
