//! Servers that ask a model: the person approves of the question, may change it, and sees the answer before it goes back.
//!
//! The answer is a text that was given in advance, what the person types, or that of a model of the configuration. Where nobody
//! can approve, nothing is answered but with the text that was given in advance.

use std::io;

use contexture::client::{Sampling, SamplingApproval, SamplingQuestion, SamplingReview};
use contexture::model::{CreateMessageParams, CreateMessageResult, OneOrMany, Role, SamplingContent};
use contexture::transport::PersonTime;
use contexture_host::sampling::Models;

use super::form::Sheet;
use super::keyboard::Keyboard;
use super::note;
use super::person::{Asking, Presence, turn};
use super::text::{safe, safe_line};

/// Who answers in the place of a model.
#[derive(Debug, Clone)]
pub(crate) enum Answerer {
    /// This text, always.
    Text(String),
    /// The person, at the keyboard.
    Person,
    /// Models of the configuration.
    Models(Models),
}

/// Answers in this way, after somebody has agreed.
pub(crate) fn sampling(answerer: Answerer, asking: Asking) -> Sampling {
    let by = By::of(&answerer);
    let (first, last) = (asking.clone(), asking.clone());
    let sampling = Sampling::new(move |question| answer(answerer.clone(), question, asking.time.clone()))
        .approve(move |question| approve(question, by, first.clone()));
    match by {
        By::Text => sampling,
        _ => sampling.review(move |question, result| review(question, result, last.clone())),
    }
}

/// Who will answer, as far as the question about it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Text,
    Person,
    Model,
}

impl By {
    fn of(answerer: &Answerer) -> Self {
        match answerer {
            Answerer::Text(_) => Self::Text,
            Answerer::Person => Self::Person,
            Answerer::Models(_) => Self::Model,
        }
    }
}

async fn answer(
    answerer: Answerer,
    question: SamplingQuestion,
    time: PersonTime,
) -> Result<CreateMessageResult, String> {
    // The server waits for us, whoever answers.
    let _asked = time.ask();
    let (name, text) = match answerer {
        Answerer::Text(text) => ("canned", text),
        Answerer::Models(models) => {
            return models.create(question.params).await.map_err(|error| error.message);
        }
        Answerer::Person => {
            let _turn = turn(&time).await;
            let typed = at_keyboard(|sheet| lines(sheet, "Your answer, ended by an empty line:")).await;
            ("a person", typed.ok_or("nobody answered")?)
        }
    };
    Ok(CreateMessageResult::new(name, SamplingContent::text(text)).stop_reason("endTurn"))
}

async fn approve(question: SamplingQuestion, by: By, asking: Asking) -> SamplingApproval {
    let Asking { presence, aside, time } = asking;
    let _turn = turn(&time).await;
    let server = question.server.display_name().to_owned();
    show(&question);
    let message = last_text(&question.params).unwrap_or_default().to_owned();
    if by == By::Text {
        note("  answered with --sample");
        aside.question("sampling", &server, &message, "accept");
        return SamplingApproval::Allow;
    }
    if presence != Presence::There {
        note(&format!("  {}", presence.why_not()));
        aside.question("sampling", &server, &message, "decline");
        return SamplingApproval::Deny("the person declined".to_owned());
    }
    let verb = if by == By::Person { "Answer it yourself?" } else { "Ask the model?" };
    let decided = at_keyboard(move |sheet| decide(sheet, verb, question.params)).await;
    match decided {
        Some(approval) => approval,
        None => {
            aside.question("sampling", &server, &message, "decline");
            SamplingApproval::Deny("the person declined".to_owned())
        }
    }
}

/// Nothing, if they say no or go away.
fn decide(
    sheet: &mut Sheet<'_>,
    verb: &str,
    mut params: CreateMessageParams,
) -> io::Result<Option<SamplingApproval>> {
    let mut edited = false;
    loop {
        match sheet.decide(&format!("{verb} [y]es, [n]o (decline), [e]dit the question: "), "yne", None)? {
            Some('y') if edited => return Ok(Some(SamplingApproval::Edit(Box::new(params)))),
            Some('y') => return Ok(Some(SamplingApproval::Allow)),
            Some('e') => {
                if let Some(text) = lines(sheet, "The last message instead, ended by an empty line:")? {
                    put_last_text(&mut params, text);
                    edited = true;
                }
            }
            _ => return Ok(None),
        }
    }
}

/// The person sees the answer before the server does.
async fn review(question: SamplingQuestion, result: CreateMessageResult, asking: Asking) -> SamplingReview {
    let Asking { aside, time, .. } = asking;
    let _turn = turn(&time).await;
    let server = question.server.display_name().to_owned();
    let message = last_text(&question.params).unwrap_or_default().to_owned();
    note(&format!("{} answers:", safe_line(&result.model)));
    result.content.as_slice().iter().for_each(|block| note(&format!("  {}", block_text(block))));
    let decided = at_keyboard(move |sheet| deliver(sheet, result)).await;
    aside.question("sampling", &server, &message, if decided.is_some() { "accept" } else { "decline" });
    decided.unwrap_or_else(|| SamplingReview::Deny("the person declined".to_owned()))
}

fn deliver(sheet: &mut Sheet<'_>, mut result: CreateMessageResult) -> io::Result<Option<SamplingReview>> {
    let mut edited = false;
    loop {
        match sheet.decide("Send this? [Y]es, [n]o (decline), [e]dit: ", "yne", Some('y'))? {
            Some('y') if edited => return Ok(Some(SamplingReview::Edit(Box::new(result)))),
            Some('y') => return Ok(Some(SamplingReview::Deliver)),
            Some('e') => {
                if let Some(text) = lines(sheet, "The answer instead, ended by an empty line:")? {
                    result.content = OneOrMany::from(SamplingContent::text(text));
                    edited = true;
                }
            }
            _ => return Ok(None),
        }
    }
}

/// Asks on a thread of its own, which may wait for the keyboard. Nothing, if they go away.
async fn at_keyboard<T: Send + 'static>(
    ask: impl FnOnce(&mut Sheet<'_>) -> io::Result<Option<T>> + Send + 'static,
) -> Option<T> {
    let asked = tokio::task::spawn_blocking(move || {
        let (mut input, mut out) = (Keyboard::open(), io::stderr());
        ask(&mut Sheet { input: &mut input, out: &mut out, margin: "" })
    });
    asked.await.ok()?.ok()?
}

/// Lines until one is empty; nothing at the end of input.
fn lines(sheet: &mut Sheet<'_>, what: &str) -> io::Result<Option<String>> {
    writeln!(sheet.out, "{}  {what}", sheet.margin)?;
    let mut text = String::new();
    loop {
        let mut line = String::new();
        if sheet.input.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if line.trim().is_empty() && !text.is_empty() {
            return Ok(Some(text.trim_end().to_owned()));
        }
        if !line.trim().is_empty() {
            text += &line;
        }
    }
}

fn show(question: &SamplingQuestion) {
    note(&format!("{} wants to ask the model:", safe_line(question.server.display_name())));
    if let Some(system) = &question.params.system_prompt {
        note(&format!("  system: {}", safe(system)));
    }
    for message in &question.params.messages {
        let role = if message.role == Role::User { "user" } else { "model" };
        for block in message.content.as_slice() {
            note(&format!("  {role}: {}", block_text(block)));
        }
    }
}

fn block_text(block: &SamplingContent) -> String {
    match block {
        SamplingContent::Text(text) => safe(&text.text),
        SamplingContent::Image(image) => format!("({})", safe_line(&image.mime_type)),
        SamplingContent::Audio(audio) => format!("({})", safe_line(&audio.mime_type)),
        _ => "(a tool)".to_owned(),
    }
}

fn last_text(params: &CreateMessageParams) -> Option<&str> {
    let blocks = params.messages.last()?.content.as_slice();
    blocks.iter().rev().find_map(|block| match block {
        SamplingContent::Text(text) => Some(text.text.as_str()),
        _ => None,
    })
}

fn put_last_text(params: &mut CreateMessageParams, text: String) {
    if let Some(last) = params.messages.last_mut() {
        last.content = OneOrMany::from(SamplingContent::text(text));
    }
}

#[cfg(test)]
mod tests {
    use contexture::model::SamplingMessage;

    use super::*;

    fn asked<T>(typed: &str, ask: impl FnOnce(&mut Sheet<'_>) -> io::Result<T>) -> T {
        let mut out = Vec::new();
        ask(&mut Sheet { input: &mut typed.as_bytes(), out: &mut out, margin: "" })
            .expect("memory does not fail")
    }

    // covers: SAMP-HUMAN-LOOP
    #[test]
    fn the_question_is_approved_changed_or_declined_and_never_by_accident() {
        let params =
            || CreateMessageParams::new(vec![SamplingMessage::user(SamplingContent::text("why?"))], 5);
        let decided = |typed: &str| asked(typed, |sheet| decide(sheet, "Ask?", params()));
        assert!(matches!(decided("\n\ny\n"), Some(SamplingApproval::Allow)));
        assert!(decided("n\n").is_none() && decided("").is_none() && decided("e\n").is_none());
        let Some(SamplingApproval::Edit(edited)) = decided("e\nwhy\nnot?\n\ny\n") else { panic!("edited") };
        assert_eq!(last_text(&edited), Some("why\nnot?"));
    }

    #[test]
    fn the_answer_is_seen_changed_or_kept_back() {
        let result = || CreateMessageResult::new("m", SamplingContent::text("because"));
        let decided = |typed: &str| asked(typed, |sheet| deliver(sheet, result()));
        assert!(matches!(decided("\n"), Some(SamplingReview::Deliver)));
        assert!(decided("n\n").is_none() && decided("").is_none());
        let Some(SamplingReview::Edit(edited)) = decided("e\n\nno\n\ny\n") else { panic!("edited") };
        assert_eq!(block_text(&edited.content.as_slice()[0]), "no");
    }
}
