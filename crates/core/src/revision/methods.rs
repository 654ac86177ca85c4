//! Which requests and notifications a revision has, and who may send them.
//!
//! Lists of names, read beside the unions `ClientRequest`, `ServerRequest` and so on of each schema.

use super::{Era, Rules};
use crate::model::Method;

impl Rules {
    /// Whether clients may send this request.
    pub const fn client_may_request(&self, method: Method) -> bool {
        match method {
            Method::Initialize
            | Method::Ping
            | Method::ResourcesSubscribe
            | Method::ResourcesUnsubscribe
            | Method::LoggingSetLevel => matches!(self.era, Era::Legacy),
            Method::ServerDiscover | Method::SubscriptionsListen => matches!(self.era, Era::Modern),
            Method::ToolsList
            | Method::ToolsCall
            | Method::ResourcesList
            | Method::ResourcesTemplatesList
            | Method::ResourcesRead
            | Method::PromptsList
            | Method::PromptsGet
            | Method::CompletionComplete => true,
            Method::TasksGet | Method::TasksResult | Method::TasksList | Method::TasksCancel => {
                self.has_core_tasks
            }
            _ => false,
        }
    }

    /// Whether servers may send this request.
    pub const fn server_may_request(&self, method: Method) -> bool {
        match method {
            Method::Ping | Method::SamplingCreateMessage | Method::RootsList => self.has_server_requests,
            Method::ElicitationCreate => self.has_server_requests && self.has_elicitation(),
            Method::TasksGet | Method::TasksResult | Method::TasksList | Method::TasksCancel => {
                self.has_core_tasks
            }
            _ => false,
        }
    }

    /// Whether clients may send this notification.
    pub const fn client_may_notify(&self, method: Method) -> bool {
        match method {
            Method::Cancelled => true,
            Method::Initialized | Method::Progress => matches!(self.era, Era::Legacy),
            Method::RootsListChanged => self.has_roots_list_changed,
            Method::TasksStatus => self.has_core_tasks,
            _ => false,
        }
    }

    /// Whether servers may send this notification.
    pub const fn server_may_notify(&self, method: Method) -> bool {
        match method {
            Method::Cancelled
            | Method::Progress
            | Method::LogMessage
            | Method::ToolsListChanged
            | Method::ResourcesListChanged
            | Method::ResourcesUpdated
            | Method::PromptsListChanged => true,
            Method::SubscriptionsAcknowledged => self.has_listen,
            Method::ElicitationComplete => self.has_elicitation_ids,
            Method::TasksStatus => self.has_core_tasks,
            _ => false,
        }
    }

    /// Whether a server may ask a person at all.
    pub const fn has_elicitation(&self) -> bool {
        !matches!(self.elicitation, super::ElicitationForms::Absent)
    }

    /// Whether a request may be answered by asking for input first.
    pub const fn has_input_rounds(&self, method: Method) -> bool {
        matches!(self.era, Era::Modern)
            && matches!(method, Method::ToolsCall | Method::PromptsGet | Method::ResourcesRead)
    }
}
