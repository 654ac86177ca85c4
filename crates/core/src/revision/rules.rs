//! One table of rules per date.
//!
//! A field is named after what it permits or decides, never after the revision that introduced it.
//! Nothing here computes: a table row is a constant that can be read beside the specification.

use super::{Era, Revision};

/// How tools may return data for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StructuredOutput {
    /// Not at all: the text mirror carries the data.
    Absent,
    /// `structuredContent` and `outputSchema`, objects only.
    Object,
    /// Any JSON value.
    Any,
}

/// Which forms a server may ask a person to fill in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElicitationForms {
    /// None.
    Absent,
    /// Flat primitives; enums by `enum` and `enumNames`; defaults on booleans only.
    Flat,
    /// Titled and multiple choice, and defaults everywhere.
    Rich,
}

/// Where a failed check of a tool's arguments is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentErrors {
    /// As a JSON-RPC error -32602.
    Protocol,
    /// As a result with `isError`, so that the model can mend its call.
    Result,
}

/// What stands in `id` of an error answering a message whose id could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorId {
    /// `"id": null`, as JSON-RPC has it.
    Null,
    /// The member is left out.
    Omitted,
}

/// What one revision does and has.
#[derive(Debug)]
#[non_exhaustive]
pub struct Rules {
    /// The revision that these rules describe.
    pub revision: Revision,
    /// Handshake and session, or stateless.
    pub era: Era,
    /// JSON-RPC batches are accepted.
    pub has_batches: bool,
    /// Code of "no such resource".
    pub not_found_code: i64,
    /// `id` of errors that answer the unreadable.
    pub error_id: ErrorId,
    /// Where failed argument checks are reported.
    pub argument_errors: ArgumentErrors,
    /// Tools may describe themselves with hints.
    pub has_tool_annotations: bool,
    /// Audio content.
    pub has_audio: bool,
    /// Links to resources as content.
    pub has_resource_links: bool,
    /// `title` beside `name`.
    pub has_titles: bool,
    /// `icons`, and `description` and `websiteUrl` of an implementation.
    pub has_icons: bool,
    /// `_meta` on tools, prompts, resources, content, roots and contents, not only on params and results.
    pub has_meta_everywhere: bool,
    /// `lastModified` among annotations.
    pub has_last_modified: bool,
    /// `size` of a resource.
    pub has_resource_size: bool,
    /// Structured output of tools.
    pub structured_output: StructuredOutput,
    /// `message` of progress notifications.
    pub has_progress_message: bool,
    /// The `completions` capability of servers.
    pub has_completions_capability: bool,
    /// `context` of completion requests.
    pub has_completion_context: bool,
    /// Forms of elicitation.
    pub elicitation: ElicitationForms,
    /// Elicitation that sends a person to a URL.
    pub has_url_elicitation: bool,
    /// `elicitationId` and `notifications/elicitation/complete`.
    pub has_elicitation_ids: bool,
    /// Code -32042 exists.
    pub has_url_required_error: bool,
    /// Tools in sampling, content arrays, `sampling.tools` and `sampling.context`.
    pub has_sampling_tools: bool,
    /// Tasks as part of the core protocol.
    pub has_core_tasks: bool,
    /// The `extensions` capability.
    pub has_extensions: bool,
    /// The `roots.listChanged` capability and its notification.
    pub has_roots_list_changed: bool,
    /// `resultType` on every result.
    pub has_result_type: bool,
    /// `ttlMs` and `cacheScope` on lists, reads and discovery.
    pub has_cache_hints: bool,
    /// `serverInfo` in the `_meta` of results.
    pub has_server_info_meta: bool,
    /// A session-wide log level, set by the client.
    pub has_set_level: bool,
    /// `ping` in both directions.
    pub has_ping: bool,
    /// Servers may send requests; otherwise they ask by input rounds.
    pub has_server_requests: bool,
    /// Changes are listened for with `subscriptions/listen`.
    pub has_listen: bool,
    /// HTTP requests name the revision in a header.
    pub has_version_header: bool,
    /// HTTP requests repeat method, name and annotated arguments in headers.
    pub has_header_mirroring: bool,
    /// A stream over HTTP begins with an event that has only an id, and may be closed before its answer.
    pub has_polling: bool,
    /// Over HTTP, whoever goes away has cancelled what it asked for.
    pub disconnect_cancels: bool,
}

pub(super) const V2024_11_05: Rules = Rules {
    revision: Revision::V2024_11_05,
    era: Era::Legacy,
    has_batches: false,
    not_found_code: -32002,
    error_id: ErrorId::Null,
    argument_errors: ArgumentErrors::Protocol,
    has_tool_annotations: false,
    has_audio: false,
    has_resource_links: false,
    has_titles: false,
    has_icons: false,
    has_meta_everywhere: false,
    has_last_modified: false,
    has_resource_size: true,
    structured_output: StructuredOutput::Absent,
    has_progress_message: false,
    has_completions_capability: false,
    has_completion_context: false,
    elicitation: ElicitationForms::Absent,
    has_url_elicitation: false,
    has_elicitation_ids: false,
    has_url_required_error: false,
    has_sampling_tools: false,
    has_core_tasks: false,
    has_extensions: false,
    has_roots_list_changed: true,
    has_result_type: false,
    has_cache_hints: false,
    has_server_info_meta: false,
    has_set_level: true,
    has_ping: true,
    has_server_requests: true,
    has_listen: false,
    has_version_header: false,
    has_header_mirroring: false,
    has_polling: false,
    disconnect_cancels: false,
};

pub(super) const V2025_03_26: Rules = Rules {
    revision: Revision::V2025_03_26,
    has_batches: true,
    has_tool_annotations: true,
    has_audio: true,
    has_progress_message: true,
    has_completions_capability: true,
    ..V2024_11_05
};

pub(super) const V2025_06_18: Rules = Rules {
    revision: Revision::V2025_06_18,
    has_batches: false,
    has_resource_links: true,
    has_titles: true,
    has_meta_everywhere: true,
    has_last_modified: true,
    structured_output: StructuredOutput::Object,
    has_completion_context: true,
    elicitation: ElicitationForms::Flat,
    has_version_header: true,
    ..V2025_03_26
};

pub(super) const V2025_11_25: Rules = Rules {
    revision: Revision::V2025_11_25,
    error_id: ErrorId::Omitted,
    argument_errors: ArgumentErrors::Result,
    has_icons: true,
    elicitation: ElicitationForms::Rich,
    has_url_elicitation: true,
    has_elicitation_ids: true,
    has_url_required_error: true,
    has_sampling_tools: true,
    has_core_tasks: true,
    has_polling: true,
    ..V2025_06_18
};

pub(super) const V2026_07_28: Rules = Rules {
    revision: Revision::V2026_07_28,
    era: Era::Modern,
    not_found_code: -32602,
    structured_output: StructuredOutput::Any,
    has_elicitation_ids: false,
    has_url_required_error: false,
    has_core_tasks: false,
    has_extensions: true,
    has_roots_list_changed: false,
    has_result_type: true,
    has_cache_hints: true,
    has_server_info_meta: true,
    has_set_level: false,
    has_ping: false,
    has_server_requests: false,
    has_listen: true,
    has_header_mirroring: true,
    has_polling: false,
    disconnect_cancels: true,
    ..V2025_11_25
};
