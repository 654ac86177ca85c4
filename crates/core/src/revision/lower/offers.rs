//! What servers and clients offer besides tools: resources, prompts, roots, completions.

use super::{Lower, keep, stamp, stamp_cache};
use crate::model::{
    CompleteParams, CompleteResult, GetPromptParams, GetPromptResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListRootsResult, Prompt, PromptArgument, PromptMessage,
    ReadResourceParams, ReadResourceResult, Reference, Resource, ResourceTemplate, Root,
};
use crate::revision::Rules;

impl Lower for Resource {
    fn lower(&mut self, rules: &Rules) {
        keep(&mut self.title, rules.has_titles);
        keep(&mut self.icons, rules.has_icons);
        keep(&mut self.size, rules.has_resource_size);
        keep(&mut self.meta, rules.has_meta_everywhere);
        self.annotations.lower(rules);
    }
}

impl Lower for ResourceTemplate {
    fn lower(&mut self, rules: &Rules) {
        keep(&mut self.title, rules.has_titles);
        keep(&mut self.icons, rules.has_icons);
        keep(&mut self.meta, rules.has_meta_everywhere);
        self.annotations.lower(rules);
    }
}

impl Lower for ListResourcesResult {
    fn lower(&mut self, rules: &Rules) {
        self.resources.lower(rules);
        stamp(&mut self.result_type, &mut self.meta, rules);
        stamp_cache(&mut self.ttl_ms, &mut self.cache_scope, rules);
    }
}

impl Lower for ListResourceTemplatesResult {
    fn lower(&mut self, rules: &Rules) {
        self.resource_templates.lower(rules);
        stamp(&mut self.result_type, &mut self.meta, rules);
        stamp_cache(&mut self.ttl_ms, &mut self.cache_scope, rules);
    }
}

impl Lower for ReadResourceParams {
    fn lower(&mut self, rules: &Rules) {
        keep(&mut self.input_responses, !rules.has_server_requests);
        keep(&mut self.request_state, !rules.has_server_requests);
    }
}

impl Lower for ReadResourceResult {
    fn lower(&mut self, rules: &Rules) {
        self.contents.lower(rules);
        stamp(&mut self.result_type, &mut self.meta, rules);
        stamp_cache(&mut self.ttl_ms, &mut self.cache_scope, rules);
    }
}

impl Lower for Prompt {
    fn lower(&mut self, rules: &Rules) {
        keep(&mut self.title, rules.has_titles);
        keep(&mut self.icons, rules.has_icons);
        keep(&mut self.meta, rules.has_meta_everywhere);
        self.arguments.lower(rules);
    }
}

impl Lower for PromptArgument {
    fn lower(&mut self, rules: &Rules) {
        keep(&mut self.title, rules.has_titles);
    }
}

impl Lower for PromptMessage {
    fn lower(&mut self, rules: &Rules) {
        self.content.lower(rules);
    }
}

impl Lower for ListPromptsResult {
    fn lower(&mut self, rules: &Rules) {
        self.prompts.lower(rules);
        stamp(&mut self.result_type, &mut self.meta, rules);
        stamp_cache(&mut self.ttl_ms, &mut self.cache_scope, rules);
    }
}

impl Lower for GetPromptParams {
    fn lower(&mut self, rules: &Rules) {
        keep(&mut self.input_responses, !rules.has_server_requests);
        keep(&mut self.request_state, !rules.has_server_requests);
    }
}

impl Lower for GetPromptResult {
    fn lower(&mut self, rules: &Rules) {
        self.messages.lower(rules);
        stamp(&mut self.result_type, &mut self.meta, rules);
    }
}

impl Lower for CompleteParams {
    fn lower(&mut self, rules: &Rules) {
        keep(&mut self.context, rules.has_completion_context);
        if let Reference::Prompt { title, .. } = &mut self.reference {
            keep(title, rules.has_titles);
        }
    }
}

impl Lower for CompleteResult {
    fn lower(&mut self, rules: &Rules) {
        stamp(&mut self.result_type, &mut self.meta, rules);
    }
}

impl Lower for Root {
    fn lower(&mut self, rules: &Rules) {
        keep(&mut self.meta, rules.has_meta_everywhere);
    }
}

impl Lower for ListRootsResult {
    fn lower(&mut self, rules: &Rules) {
        self.roots.lower(rules);
        // In an input round this is an answer among others, not a result with metadata of its own.
        keep(&mut self.meta, rules.has_server_requests);
    }
}
