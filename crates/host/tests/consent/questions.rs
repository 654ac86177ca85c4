//! What people are shown, and what their answers are taken for.

use contexture::Principal;
use contexture::model::{
    ElicitParams, ElicitResult, ElicitSchema, EnumOption, PrimitiveSchema, StringSchema, ToolAnnotations,
};
use contexture_host::consent::{Answer, AskPerson, Kind, Verdict, attributed};
use serde_json::json;

use crate::{Wish, consent, message, read_only};

fn ask(wish: &Wish) -> AskPerson {
    let verdict = consent(json!({ "default": "ask" })).decide(&wish.asking());
    let Verdict::Ask(ask) = verdict else { panic!("{verdict:?}") };
    ask
}

fn choices(ask: &AskPerson) -> Vec<&str> {
    let Some(PrimitiveSchema::Enum(field)) = ask.form.property("decision") else { panic!("{:?}", ask.form) };
    field.options.iter().map(|EnumOption { value, .. }| value.as_str()).collect()
}

// covers: SEC-REVIEW-UI, TOOLS-CLIENT-SHOW-INPUTS, TOOLS-UI-CONFIRM, SEC-TOOL-UNDERSTAND, SEC-IMPL-CONSENT-FLOWS
#[test]
fn the_question_names_server_tool_and_exactly_the_arguments() {
    let arguments =
        r#"{"path":"/tmp/a","size":123456789012345678901234567890,"nested":{"list":[1.0,1e400,null]}}"#;
    let mut wish =
        Wish::tool("write_file").arguments(arguments).hints(ToolAnnotations::new().destructive_hint(true));
    let tool = wish.tool.as_mut().expect("a tool");
    (tool.title, tool.description) = (Some("File writer".into()), Some("Writes a file.".into()));
    let asked = ask(&wish);
    for part in [
        "\"write_file\"",
        "\"files\"",
        "\"File writer\"",
        "Writes a file.",
        "nobody has checked",
        "destroy",
        "\"/tmp/a\"",
    ] {
        assert!(asked.message.contains(part), "{part}: {}", asked.message);
    }
    let shown: String = asked.message.lines().filter_map(|line| line.strip_prefix("  | ")).collect();
    let squeezed: String = shown.chars().filter(|char| *char != ' ').collect();
    assert_eq!(squeezed, arguments, "every token as it will be sent");
    assert_eq!(asked.question().message, asked.message);
    assert_eq!(asked.question().server, "files");
    assert!(message(consent(json!({})).decide(&Wish::tool("x").asking())).contains("Without arguments"));
}

#[test]
fn the_form_can_be_asked_in_every_revision_that_has_forms() {
    let ElicitParams::Form(form) = ask(&Wish::tool("write")).elicitation() else { panic!("a form") };
    let schema = serde_json::to_value(&form.requested_schema).expect("JSON");
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["required"], json!(["decision"]));
    assert_eq!(schema["properties"]["decision"]["type"], "string");
    assert_eq!(schema["properties"].as_object().map(|fields| fields.len()), Some(1));
}

#[test]
fn only_what_can_be_kept_is_offered() {
    let anonymous = Wish::tool("write").by(Principal::anonymous());
    assert_eq!(choices(&ask(&Wish::tool("write"))), ["once", "always", "deny", "never"]);
    assert_eq!(choices(&ask(&Wish::of_kind(Kind::Roots, ""))), ["once", "always", "deny", "never"]);
    assert_eq!(choices(&ask(&Wish::of_kind(Kind::Sampling, ""))), ["once", "deny", "never"]);
    assert_eq!(choices(&ask(&anonymous)), ["once", "deny"]);
}

/// Whatever is in a name or an argument, it can neither hide nor look like what we say.
#[test]
fn nothing_that_others_write_can_pass_for_ours() {
    let forged = "x\nAllow a call of the tool \"ls\" of server \"safe\"?\nArguments:\n  | {}";
    let hidden =
        "a\u{202e}b\u{200b}c\u{200d}d\u{1b}[2Je\u{7f}\u{85}\u{2028}f\u{feff}\u{e0041}\u{fe0f}\u{ad}g\u{2066}";
    for evil in [forged, hidden] {
        let text = serde_json::to_string(&json!({ "path": evil, evil: [evil] })).expect("JSON");
        let mut wish = Wish::tool(evil).server(evil).arguments(&text).hints(read_only());
        wish.tool.as_mut().expect("a tool").description = Some(evil.into());
        let shown = ask(&wish).message;
        assert!(!shown.chars().any(is_hidden), "{shown:?}");
        let ours =
            shown.lines().filter(|line| line.starts_with("Allow a call") || line.starts_with("Arguments"));
        assert_eq!(ours.count(), 2, "{shown}");
        assert!(shown.lines().next().is_some_and(|line| line.ends_with("?")), "{shown}");
        let behind_margin = shown.lines().skip_while(|line| !line.starts_with("Arguments")).skip(1);
        assert!(
            behind_margin.clone().count() > 2 && behind_margin.clone().all(|line| line.starts_with("  | "))
        );
    }
    // Raw control characters cannot stand in JSON, but these can.
    let wish = Wish::tool("x").arguments("{\"a\": \"\u{202e}\u{200b}\u{9b}2J\u{2028}\"}");
    assert!(!ask(&wish).message.chars().any(is_hidden));
}

fn is_hidden(char: char) -> bool {
    (char.is_control() && char != '\n')
        || ('\u{200b}'..='\u{200f}').contains(&char)
        || ('\u{2028}'..='\u{202e}').contains(&char)
        || ('\u{2060}'..='\u{206f}').contains(&char)
        || ('\u{e0000}'..='\u{e0fff}').contains(&char)
        || ['\u{ad}', '\u{feff}', '\u{fe0f}', '\u{61c}'].contains(&char)
}

#[test]
fn what_is_too_long_is_cut_and_that_is_said() {
    let long = "y".repeat(1_000_000);
    let text = json!({ "a": long, "b": long }).to_string();
    let mut wish = Wish::tool(&long).server(&long).arguments(&text);
    wish.tool.as_mut().expect("a tool").description = Some(long.clone());
    let shown = ask(&wish).message;
    assert!(shown.len() < 10_000, "{}", shown.len());
    assert!(shown.contains("more bytes that are NOT shown"), "{shown}");
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let wish = Wish { arguments: None, ..Wish::tool("x") };
    let deep = serde_json::value::RawValue::from_string(format!("\"{}\"", deep)).expect("JSON");
    assert!(ask(&Wish { arguments: Some(deep), ..wish }).message.len() < 10_000);
}

// covers: ELIC-UI-DECLINE, ELIC-APPROVAL
#[test]
fn only_a_clear_yes_is_one() {
    let accept = |word: &str| json!({ "action": "accept", "content": { "decision": word } });
    let cases = [
        (accept("once"), Answer::Once),
        (accept("always"), Answer::Always),
        (accept("deny"), Answer::Deny),
        (accept("never"), Answer::Never),
        (accept("Once"), Answer::Dismissed),
        (accept(""), Answer::Dismissed),
        (json!({ "action": "accept" }), Answer::Dismissed),
        (json!({ "action": "accept", "content": {} }), Answer::Dismissed),
        (json!({ "action": "accept", "content": { "decision": true } }), Answer::Dismissed),
        (json!({ "action": "decline" }), Answer::Deny),
        (json!({ "action": "decline", "content": { "decision": "always" } }), Answer::Deny),
        (json!({ "action": "cancel", "content": { "decision": "once" } }), Answer::Dismissed),
        (json!({ "action": "yes" }), Answer::Dismissed),
        (json!("once"), Answer::Dismissed),
        (json!(null), Answer::Dismissed),
    ];
    for (wire, wanted) in cases {
        assert_eq!(Answer::from_wire(&wire), wanted, "{wire}");
        if let Ok(result) = serde_json::from_value::<ElicitResult>(wire.clone()) {
            assert_eq!(Answer::from(&result), wanted, "{wire}");
        }
    }
}

// covers: ELIC-UI-SERVER-IDENTITY, ELIC-CLEAR-PURPOSE
#[test]
fn a_question_of_a_server_says_whose_it_is() {
    let form = ElicitSchema::new().required("name", StringSchema::new().title("Name"));
    let form = attributed("fi\nles", ElicitParams::form("Who are you?", form.clone()));
    assert_eq!(form.message(), "Server \"fi\\nles\" asks: Who are you?");
    let ElicitParams::Form(params) = form else { panic!("a form") };
    assert!(params.requested_schema.property("name").is_some(), "the rest is as it was");
    let url = attributed("files", ElicitParams::url("Log in", "https://example.org/"));
    assert_eq!(url.message(), "Server \"files\" asks: Log in");
}
