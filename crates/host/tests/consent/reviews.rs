//! Questions to a model and their answers, before they go on.

use std::collections::BTreeMap;

use contexture::model::{
    CreateMessageParams, CreateMessageResult, ElicitResult, ElicitSchema, ElicitValue, PrimitiveSchema,
    SamplingContent, SamplingMessage, Tool, ToolUseContent, code,
};
use contexture_host::consent::review;
use serde_json::json;

fn params() -> CreateMessageParams {
    let messages = vec![
        SamplingMessage::user("Hello"),
        SamplingMessage::assistant("Hi"),
        SamplingMessage::user(vec![
            SamplingContent::text("first"),
            SamplingContent::text("Tell me a \u{202e}secret\n"),
        ]),
    ];
    CreateMessageParams::new(messages, 100).system_prompt("Be brief.").temperature(0.5)
}

fn answer(fields: &[(&str, ElicitValue)]) -> ElicitResult {
    let fields: BTreeMap<String, ElicitValue> =
        fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    ElicitResult::accept(fields)
}

fn default_of(form: &ElicitSchema, field: &str) -> Option<String> {
    match form.property(field)? {
        PrimitiveSchema::String(field) => field.default_value.clone(),
        PrimitiveSchema::Number(field) => field.default_value.as_ref().map(ToString::to_string),
        _ => None,
    }
}

// covers: SAMP-UI-REVIEW, SAMP-HUMAN-LOOP
#[test]
fn the_whole_question_is_shown_with_the_server_that_asks() {
    let tool = Tool::new("search", json!({"type": "object"}).as_object().expect("an object").clone());
    let question = review::request("fi\nles", &params().tools(vec![tool]));
    for part in [
        "server \"fi\\nles\"",
        "Be brief.",
        "user | Hello",
        "model | Hi",
        "first",
        "\\u{202e}secret\\n",
        "100 tokens",
        "\"search\"",
    ] {
        assert!(question.message.contains(part), "{part}: {}", question.message);
    }
    assert_eq!(question.server, "fi\nles");
    assert_eq!(default_of(&question.form, "systemPrompt").as_deref(), Some("Be brief."));
    assert_eq!(default_of(&question.form, "lastMessage").as_deref(), Some("Tell me a \u{202e}secret\n"));
    assert_eq!(default_of(&question.form, "maxTokens").as_deref(), Some("100"));
}

// covers: SAMP-EDIT-PROMPT, SEC-SAMPLING-USER-CONTROL
#[test]
fn what_a_person_changes_is_what_leaves() {
    let said = answer(&[
        ("decision", "once".into()),
        ("systemPrompt", "Be polite.".into()),
        ("lastMessage", "Tell me a joke".into()),
        ("maxTokens", 20_i64.into()),
    ]);
    let edited = review::edited_request(params(), &said).expect("allowed");
    assert_eq!(edited.system_prompt.as_deref(), Some("Be polite."));
    assert_eq!(edited.max_tokens, 20);
    let last = edited.messages.last().expect("a message").content.as_slice();
    assert_eq!(last, [SamplingContent::text("first"), SamplingContent::text("Tell me a joke")]);
    assert_eq!((&edited.messages[..2], edited.temperature), (&params().messages[..2], Some(0.5)));
    let untouched =
        answer(&[("decision", "once".into()), ("lastMessage", "".into()), ("maxTokens", "many".into())]);
    assert_eq!(review::edited_request(params(), &untouched).expect("allowed"), params());
    let more = answer(&[("decision", "once".into()), ("maxTokens", 100_000_i64.into())]);
    assert_eq!(
        review::edited_request(params(), &more).expect("allowed").max_tokens,
        100,
        "the server's own bound"
    );
}

// covers: SAMP-ERRORS, SEC-SAMPLING-CONSENT
#[test]
fn without_a_yes_nothing_leaves_and_nothing_returns() {
    let result = || CreateMessageResult::new("m", SamplingContent::text("x"));
    let refusals = [
        ElicitResult::decline(),
        ElicitResult::cancel(),
        ElicitResult::consent(),
        answer(&[("decision", "deny".into()), ("lastMessage", "x".into())]),
        answer(&[("decision", "perhaps".into())]),
        answer(&[("lastMessage", "x".into())]),
    ];
    for refusal in refusals {
        let request = review::edited_request(params(), &refusal).expect_err("no yes");
        let returned = review::edited_result(result(), &refusal).expect_err("no yes");
        assert_eq!((request.code, returned.code), (code::USER_REJECTED, code::USER_REJECTED), "{refusal:?}");
    }
}

// covers: SAMP-REVIEW-RESPONSE
#[test]
fn the_answer_is_shown_and_can_be_changed_before_the_server_sees_it() {
    let call =
        ToolUseContent { id: "1".into(), name: "search".into(), input: Default::default(), meta: None };
    let blocks = vec![SamplingContent::text("The secret is 42"), SamplingContent::ToolUse(call.clone())];
    let result = CreateMessageResult::new("model-1", blocks).stop_reason("toolUse");
    let question = review::result("files", &result);
    for part in ["\"files\"", "\"model-1\"", "The secret is 42", "\"search\""] {
        assert!(question.message.contains(part), "{part}: {}", question.message);
    }
    assert_eq!(default_of(&question.form, "text").as_deref(), Some("The secret is 42"));
    let said = answer(&[("decision", "once".into()), ("text", "It is secret".into())]);
    let edited = review::edited_result(result.clone(), &said).expect("allowed");
    let wanted = [SamplingContent::text("It is secret"), SamplingContent::ToolUse(call)];
    assert_eq!(edited.content.as_slice(), wanted);
    assert_eq!((edited.model.as_str(), edited.stop_reason.as_deref()), ("model-1", Some("toolUse")));
    let kept = answer(&[("decision", "once".into())]);
    assert_eq!(review::edited_result(result.clone(), &kept).expect("allowed"), result);
}

#[test]
fn long_conversations_are_cut_and_that_is_said() {
    let messages = (0..5_000).map(|_| SamplingMessage::user("y".repeat(5_000).as_str())).collect();
    let question = review::request("files", &CreateMessageParams::new(messages, 1));
    assert!(question.message.len() < 40_000, "{}", question.message.len());
    assert!(question.message.contains("4990 earlier messages are NOT shown"), "{}", &question.message[..200]);
    assert_eq!(default_of(&question.form, "lastMessage"), None, "too long for a form");
}
