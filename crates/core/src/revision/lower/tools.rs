//! Tools and their results.

use super::structured::{is_object, is_object_schema, spell_out_booleans, wrap_raw, wrap_schema};
use super::{Lower, keep, stamp, stamp_cache};
use crate::model::{CallToolParams, CallToolResult, JsonObject, ListToolsResult, Tool, ToolAnnotations};
use crate::revision::{Rules, StructuredOutput};

impl Lower for Tool {
    fn lower(&mut self, rules: &Rules) {
        if !rules.has_titles
            && let Some(title) = self.title.take()
            && rules.has_tool_annotations
        {
            // The revision before titles had them among the hints.
            self.annotations.get_or_insert_with(ToolAnnotations::new).title.get_or_insert(title);
        }
        keep(&mut self.annotations, rules.has_tool_annotations);
        keep(&mut self.icons, rules.has_icons);
        keep(&mut self.execution, rules.has_core_tasks);
        keep(&mut self.meta, rules.has_meta_everywhere);
        match rules.structured_output {
            StructuredOutput::Any => return,
            StructuredOutput::Absent => self.output_schema = None,
            StructuredOutput::Object => {
                self.output_schema = self.output_schema.take().map(|mut schema| {
                    if !is_object_schema(&schema) {
                        schema = wrap_schema(schema);
                    }
                    spell_out_booleans(&mut schema);
                    schema
                });
            }
        }
        spell_out_booleans(&mut self.input_schema);
    }
}

impl Lower for ListToolsResult {
    fn lower(&mut self, rules: &Rules) {
        self.tools.lower(rules);
        stamp(&mut self.result_type, &mut self.meta, rules);
        stamp_cache(&mut self.ttl_ms, &mut self.cache_scope, rules);
    }
}

impl Lower for CallToolParams<'_> {
    fn lower(&mut self, rules: &Rules) {
        keep(&mut self.input_responses, !rules.has_server_requests);
        keep(&mut self.request_state, !rules.has_server_requests);
        keep(&mut self.task, rules.has_core_tasks);
    }
}

/// Wraps structured content that is no object. Where the tool has an output schema, use
/// [`CallToolResult::lower_with`]: what its schema wraps must be wrapped even if this value is an object.
impl Lower for CallToolResult {
    fn lower(&mut self, rules: &Rules) {
        self.lower_with(None, rules);
    }
}

impl CallToolResult {
    /// Lowers a result of a tool that has this output schema (as declared, not lowered).
    pub fn lower_with(&mut self, output_schema: Option<&JsonObject>, rules: &Rules) {
        self.content.lower(rules);
        stamp(&mut self.result_type, &mut self.meta, rules);
        match (rules.structured_output, &self.structured_content) {
            (StructuredOutput::Absent, _) => self.structured_content = None,
            (StructuredOutput::Object, Some(raw)) => {
                if !is_object(raw) || output_schema.is_some_and(|schema| !is_object_schema(schema)) {
                    self.structured_content = wrap_raw(raw);
                }
            }
            (StructuredOutput::Object, None) | (StructuredOutput::Any, _) => {}
        }
    }
}
