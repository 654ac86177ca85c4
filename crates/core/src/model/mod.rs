//! The types of the protocol: one superset of the five JSON Schemas, one file per page of the specification.
//!
//! Nothing here knows which revision is spoken. What a peer's revision lacks is taken away by
//! `revision::lower` before a value is sent; what it lacks on arrival is simply absent. Unknown members are
//! accepted everywhere, unset members are left out and never sent as `null`.

/// Setters that fill optional members, for values that people build by hand.
macro_rules! setters {
    ($($(#[$doc:meta])* $field:ident: $kind:ty),+ $(,)?) => {
        $($(#[$doc])*
        #[must_use]
        pub fn $field(mut self, $field: impl Into<$kind>) -> Self {
            self.$field = Some($field.into());
            self
        })+
    };
}

mod base;
mod blob;
mod completion;
mod content;
mod elicitation;
mod elicitation_fields;
mod elicitation_schema;
mod elicitation_wire;
mod error;
mod input;
mod items;
mod lifecycle;
mod logging;
mod meta;
mod method;
mod model_choice;
mod prompts;
mod resources;
mod results;
mod roots;
mod sampling;
mod subscriptions;
mod tasks;
mod tools;
mod utilities;
mod written;

pub use crate::json_rpc::RequestId;
pub use base::{
    Annotations, Cursor, Icon, IconTheme, Implementation, JsonObject, OutOfRange, ProgressToken, Role,
};
pub use blob::{Blob, InvalidBase64};
pub use completion::{
    CompleteParams, CompleteResult, Completion, CompletionArgument, CompletionContext, Reference,
};
pub use content::{
    AudioContent, BlobResourceContents, Content, EmbeddedResource, ImageContent, ResourceContents,
    ResourceLink, TextContent, TextResourceContents,
};
pub use elicitation::{
    ElicitAction, ElicitFormParams, ElicitParams, ElicitResult, ElicitUrlParams, ElicitValue,
    ElicitationCompleteParams, FormMode, UrlMode,
};
pub use elicitation_schema::{
    BooleanSchema, ElicitSchema, ElicitSchemaError, EnumOption, EnumSchema, MultiSelectSchema, NumberSchema,
    PrimitiveSchema, StringFormat, StringSchema,
};
pub use error::{ErrorObject, code};
pub use input::{InputRequest, InputRequests, InputRequiredResult, InputResponses};
pub use items::Items;
pub use lifecycle::{
    ClientCapabilities, DiscoverParams, DiscoverResult, ElicitationCapability, InitializeParams,
    InitializeResult, ListChangedCapability, ResourcesCapability, SamplingCapability, ServerCapabilities,
    TasksCapability,
};
pub use logging::{LoggingLevel, LoggingMessageParams, SetLevelParams};
pub use meta::{Meta, MetaKeyError, key};
pub use method::Method;
pub use model_choice::{ModelHint, ModelInfo, ModelPreferences};
pub use prompts::{
    GetPromptParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage,
};
pub use resources::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceParams, ReadResourceResult, Resource,
    ResourceTemplate, ResourceUpdatedParams, SubscribeParams, UnsubscribeParams,
};
pub use results::{CacheScope, EmptyParams, EmptyResult, MAX_TTL_MS, PaginatedParams, ResultType};
pub use roots::{ListRootsParams, ListRootsResult, Root};
pub use sampling::{
    CreateMessageParams, CreateMessageResult, IncludeContext, OneOrMany, SamplingContent, SamplingMessage,
    ToolChoice, ToolChoiceMode, ToolResultContent, ToolUseContent,
};
pub use subscriptions::{
    SubscriptionFilter, SubscriptionsAcknowledgedParams, SubscriptionsListenParams, SubscriptionsListenResult,
};
pub use tasks::{
    CreateTaskResult, ListTasksResult, RelatedTask, Task, TaskMetadata, TaskParams, TaskResult, TaskStatus,
    TaskStatusParams,
};
pub use tools::{
    CallToolParams, CallToolResult, ListToolsResult, TaskSupport, Tool, ToolAnnotations, ToolExecution,
    ToolSchemaError,
};
pub use utilities::{CancelledParams, ProgressParams};
