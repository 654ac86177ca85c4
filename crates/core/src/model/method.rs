//! The names of all requests and notifications, in all revisions.
//!
//! Which of them a revision has, and who may send them, is the rules' business.

use std::fmt;

/// A request or notification that some revision defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// `initialize`: The handshake.
    Initialize,
    /// `ping`: Are you there?
    Ping,
    /// `server/discover`: What a stateless server is.
    ServerDiscover,
    /// `tools/list`: Lists tools.
    ToolsList,
    /// `tools/call`: Calls a tool.
    ToolsCall,
    /// `resources/list`: Lists resources.
    ResourcesList,
    /// `resources/templates/list`: Lists resource templates.
    ResourcesTemplatesList,
    /// `resources/read`: Reads a resource.
    ResourcesRead,
    /// `resources/subscribe`: Subscribes to a resource.
    ResourcesSubscribe,
    /// `resources/unsubscribe`: Ends that.
    ResourcesUnsubscribe,
    /// `subscriptions/listen`: Listens for changes.
    SubscriptionsListen,
    /// `prompts/list`: Lists prompts.
    PromptsList,
    /// `prompts/get`: Fills in a prompt.
    PromptsGet,
    /// `completion/complete`: Completes an argument.
    CompletionComplete,
    /// `logging/setLevel`: Sets the level of log messages.
    LoggingSetLevel,
    /// `sampling/createMessage`: Asks the model.
    SamplingCreateMessage,
    /// `elicitation/create`: Asks the person.
    ElicitationCreate,
    /// `roots/list`: Lists roots.
    RootsList,
    /// `tasks/get`: Looks at a task.
    TasksGet,
    /// `tasks/result`: Waits for the result of a task.
    TasksResult,
    /// `tasks/list`: Lists tasks.
    TasksList,
    /// `tasks/cancel`: Cancels a task.
    TasksCancel,
    /// `notifications/initialized`: The handshake is done.
    Initialized,
    /// `notifications/cancelled`: A request is no longer wanted.
    Cancelled,
    /// `notifications/progress`: A request gets on.
    Progress,
    /// `notifications/message`: A log message.
    LogMessage,
    /// `notifications/tools/list_changed`: The list of tools changed.
    ToolsListChanged,
    /// `notifications/resources/list_changed`: The list of resources changed.
    ResourcesListChanged,
    /// `notifications/resources/updated`: A resource changed.
    ResourcesUpdated,
    /// `notifications/prompts/list_changed`: The list of prompts changed.
    PromptsListChanged,
    /// `notifications/roots/list_changed`: The list of roots changed.
    RootsListChanged,
    /// `notifications/subscriptions/acknowledged`: A subscription began.
    SubscriptionsAcknowledged,
    /// `notifications/elicitation/complete`: A person is done with a URL.
    ElicitationComplete,
    /// `notifications/tasks/status`: A task changed.
    TasksStatus,
}

impl Method {
    /// All of them, requests first.
    pub const ALL: [Self; 34] = [
        Self::Initialize,
        Self::Ping,
        Self::ServerDiscover,
        Self::ToolsList,
        Self::ToolsCall,
        Self::ResourcesList,
        Self::ResourcesTemplatesList,
        Self::ResourcesRead,
        Self::ResourcesSubscribe,
        Self::ResourcesUnsubscribe,
        Self::SubscriptionsListen,
        Self::PromptsList,
        Self::PromptsGet,
        Self::CompletionComplete,
        Self::LoggingSetLevel,
        Self::SamplingCreateMessage,
        Self::ElicitationCreate,
        Self::RootsList,
        Self::TasksGet,
        Self::TasksResult,
        Self::TasksList,
        Self::TasksCancel,
        Self::Initialized,
        Self::Cancelled,
        Self::Progress,
        Self::LogMessage,
        Self::ToolsListChanged,
        Self::ResourcesListChanged,
        Self::ResourcesUpdated,
        Self::PromptsListChanged,
        Self::RootsListChanged,
        Self::SubscriptionsAcknowledged,
        Self::ElicitationComplete,
        Self::TasksStatus,
    ];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::Ping => "ping",
            Self::ServerDiscover => "server/discover",
            Self::ToolsList => "tools/list",
            Self::ToolsCall => "tools/call",
            Self::ResourcesList => "resources/list",
            Self::ResourcesTemplatesList => "resources/templates/list",
            Self::ResourcesRead => "resources/read",
            Self::ResourcesSubscribe => "resources/subscribe",
            Self::ResourcesUnsubscribe => "resources/unsubscribe",
            Self::SubscriptionsListen => "subscriptions/listen",
            Self::PromptsList => "prompts/list",
            Self::PromptsGet => "prompts/get",
            Self::CompletionComplete => "completion/complete",
            Self::LoggingSetLevel => "logging/setLevel",
            Self::SamplingCreateMessage => "sampling/createMessage",
            Self::ElicitationCreate => "elicitation/create",
            Self::RootsList => "roots/list",
            Self::TasksGet => "tasks/get",
            Self::TasksResult => "tasks/result",
            Self::TasksList => "tasks/list",
            Self::TasksCancel => "tasks/cancel",
            Self::Initialized => "notifications/initialized",
            Self::Cancelled => "notifications/cancelled",
            Self::Progress => "notifications/progress",
            Self::LogMessage => "notifications/message",
            Self::ToolsListChanged => "notifications/tools/list_changed",
            Self::ResourcesListChanged => "notifications/resources/list_changed",
            Self::ResourcesUpdated => "notifications/resources/updated",
            Self::PromptsListChanged => "notifications/prompts/list_changed",
            Self::RootsListChanged => "notifications/roots/list_changed",
            Self::SubscriptionsAcknowledged => "notifications/subscriptions/acknowledged",
            Self::ElicitationComplete => "notifications/elicitation/complete",
            Self::TasksStatus => "notifications/tasks/status",
        }
    }

    /// The method with exactly this name.
    pub fn parse(name: &str) -> Option<Self> {
        // A match compiles to a comparison by length first; a search through `ALL` would not.
        Some(match name {
            "initialize" => Self::Initialize,
            "ping" => Self::Ping,
            "server/discover" => Self::ServerDiscover,
            "tools/list" => Self::ToolsList,
            "tools/call" => Self::ToolsCall,
            "resources/list" => Self::ResourcesList,
            "resources/templates/list" => Self::ResourcesTemplatesList,
            "resources/read" => Self::ResourcesRead,
            "resources/subscribe" => Self::ResourcesSubscribe,
            "resources/unsubscribe" => Self::ResourcesUnsubscribe,
            "subscriptions/listen" => Self::SubscriptionsListen,
            "prompts/list" => Self::PromptsList,
            "prompts/get" => Self::PromptsGet,
            "completion/complete" => Self::CompletionComplete,
            "logging/setLevel" => Self::LoggingSetLevel,
            "sampling/createMessage" => Self::SamplingCreateMessage,
            "elicitation/create" => Self::ElicitationCreate,
            "roots/list" => Self::RootsList,
            "tasks/get" => Self::TasksGet,
            "tasks/result" => Self::TasksResult,
            "tasks/list" => Self::TasksList,
            "tasks/cancel" => Self::TasksCancel,
            "notifications/initialized" => Self::Initialized,
            "notifications/cancelled" => Self::Cancelled,
            "notifications/progress" => Self::Progress,
            "notifications/message" => Self::LogMessage,
            "notifications/tools/list_changed" => Self::ToolsListChanged,
            "notifications/resources/list_changed" => Self::ResourcesListChanged,
            "notifications/resources/updated" => Self::ResourcesUpdated,
            "notifications/prompts/list_changed" => Self::PromptsListChanged,
            "notifications/roots/list_changed" => Self::RootsListChanged,
            "notifications/subscriptions/acknowledged" => Self::SubscriptionsAcknowledged,
            "notifications/elicitation/complete" => Self::ElicitationComplete,
            "notifications/tasks/status" => Self::TasksStatus,
            _ => return None,
        })
    }

    /// Whether it is a notification, which has no answer.
    pub const fn is_notification(self) -> bool {
        matches!(
            self,
            Self::Initialized
                | Self::Cancelled
                | Self::Progress
                | Self::LogMessage
                | Self::ToolsListChanged
                | Self::ResourcesListChanged
                | Self::ResourcesUpdated
                | Self::PromptsListChanged
                | Self::RootsListChanged
                | Self::SubscriptionsAcknowledged
                | Self::ElicitationComplete
                | Self::TasksStatus
        )
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
