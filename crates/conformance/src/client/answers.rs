//! What the client answers when it is asked: forms, the model, the roots.
//!
//! Nobody is there to ask, so everything is accepted. That is right for a test, and for nothing else.

use std::collections::BTreeMap;

use contexture::client::{ElicitAnswer, Elicitation, Question, Roots, Sampling};
use contexture::model::{
    CreateMessageResult, ElicitSchema, ElicitValue, PrimitiveSchema, Root, SamplingContent,
};

pub(super) fn elicitation() -> Elicitation {
    Elicitation::new(|question| async move {
        match question {
            Question::Form { schema, .. } => ElicitAnswer::Accept(answer(&schema)),
            _ => ElicitAnswer::Decline,
        }
    })
}

pub(super) fn sampling() -> Sampling {
    let model = |_| async {
        let content = vec![SamplingContent::text("An answer of no model.")];
        Ok::<_, String>(CreateMessageResult::new("no-model", content))
    };
    Sampling::new(model).approve_all()
}

pub(super) fn roots() -> contexture::Result<Roots> {
    Roots::new().with(Root::new("file:///conformance").name("conformance"))
}

/// A form with every required field filled in that has no default; the library fills in the others.
pub fn answer(schema: &ElicitSchema) -> BTreeMap<String, ElicitValue> {
    let required = schema.required.iter();
    required.filter_map(|name| Some((name.clone(), value(schema.property(name)?)?))).collect()
}

fn value(field: &PrimitiveSchema) -> Option<ElicitValue> {
    let first = |options: &[contexture::model::EnumOption]| options.first().map(|it| it.value.clone());
    match field {
        PrimitiveSchema::String(field) if field.default_value.is_none() => Some("conformance".into()),
        PrimitiveSchema::Number(field) if field.default_value.is_none() => Some(1.into()),
        PrimitiveSchema::Boolean(field) if field.default_value.is_none() => Some(true.into()),
        PrimitiveSchema::Enum(field) if field.default_value.is_none() => {
            first(&field.options).map(ElicitValue::String)
        }
        PrimitiveSchema::MultiSelect(field) if field.default_value.is_none() => {
            first(&field.options).map(|value| ElicitValue::Strings(vec![value]))
        }
        _ => None,
    }
}
