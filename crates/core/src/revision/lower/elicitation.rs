//! Forms and answers.

use super::{Lower, keep};
use crate::model::{
    ElicitAction, ElicitParams, ElicitResult, ElicitSchema, ElicitValue, EnumSchema, MultiSelectSchema,
    PrimitiveSchema,
};
use crate::revision::{ElicitationForms, Rules};

/// The first field of a form that cannot be asked for in a revision without its answer changing its type.
/// Lowering makes one choice of it; a caller that needs the list should not ask.
pub fn unaskable_field<'s>(schema: &'s ElicitSchema, rules: &Rules) -> Option<&'s str> {
    let asks_many = |schema: &PrimitiveSchema| matches!(schema, PrimitiveSchema::MultiSelect(_));
    match rules.elicitation {
        ElicitationForms::Rich => None,
        ElicitationForms::Flat => {
            schema.properties.iter().find(|(_, schema)| asks_many(schema)).map(|(name, _)| name.as_str())
        }
        ElicitationForms::Absent => schema.properties.first().map(|(name, _)| name.as_str()),
    }
}

/// An `elicitationId`, which one revision demands of URLs, is not minted here: the engine has the ids.
impl Lower for ElicitParams {
    fn lower(&mut self, rules: &Rules) {
        match self {
            Self::Form(form) => {
                keep(&mut form.mode, rules.has_url_elicitation);
                keep(&mut form.task, rules.has_core_tasks);
                keep(&mut form.meta, rules.has_server_requests);
                form.requested_schema.lower(rules);
            }
            Self::Url(url) => {
                keep(&mut url.elicitation_id, rules.has_elicitation_ids);
                keep(&mut url.task, rules.has_core_tasks);
                keep(&mut url.meta, rules.has_server_requests);
            }
        }
    }
}

impl Lower for ElicitSchema {
    fn lower(&mut self, rules: &Rules) {
        if rules.elicitation == ElicitationForms::Rich {
            return;
        }
        self.dialect = None;
        for (_, schema) in &mut self.properties {
            flatten(schema);
        }
    }
}

fn flatten(schema: &mut PrimitiveSchema) {
    match schema {
        PrimitiveSchema::String(schema) => schema.default_value = None,
        PrimitiveSchema::Number(schema) => schema.default_value = None,
        PrimitiveSchema::Boolean(_) => {}
        PrimitiveSchema::Enum(schema) => {
            schema.legacy_names = true;
            schema.default_value = None;
        }
        PrimitiveSchema::MultiSelect(many) => *schema = PrimitiveSchema::Enum(one_of(std::mem::take(many))),
    }
}

fn one_of(many: MultiSelectSchema) -> EnumSchema {
    EnumSchema {
        title: many.title,
        description: many.description,
        options: many.options,
        legacy_names: true,
        default_value: None,
    }
}

impl Lower for ElicitResult {
    fn lower(&mut self, rules: &Rules) {
        keep(&mut self.content, self.action == ElicitAction::Accept);
        keep(&mut self.meta, rules.has_server_requests);
        if rules.elicitation == ElicitationForms::Rich {
            return;
        }
        for value in self.content.iter_mut().flat_map(|content| content.values_mut()) {
            if let ElicitValue::Strings(choices) = value {
                *value = ElicitValue::String(choices.join(", "));
            }
        }
    }
}
