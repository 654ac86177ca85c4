//! Whom servers may ask: the person at the terminal, and a model that there is not.
//!
//! Every question is shown with the name of the server that asks. Without a terminal, or with
//! `--no-input`, forms are left without an answer, which is not to decline; a model is never asked, but an
//! answer can be given in advance.

use std::io::{self, BufRead as _, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

use contexture::client::{
    ElicitAnswer, Elicitation, Question, Roots, Sampling, SamplingApproval, SamplingQuestion,
};
use contexture::model::{CreateMessageResult, Root, SamplingContent};
use tokio::sync::Mutex;

use super::form::Sheet;
use super::note;
use super::text::{safe, safe_line};

/// Answers forms and URLs on the terminal, one at a time, behind this margin.
pub(crate) fn elicitation(interactive: bool, margin: &'static str) -> Elicitation {
    let turn = Arc::new(Mutex::new(()));
    Elicitation::new(move |question| {
        let turn = Arc::clone(&turn);
        async move {
            let _turn = turn.lock().await;
            if !interactive {
                note(&heading(&question));
                note("  not answered: there is nobody at a terminal to ask");
                return ElicitAnswer::Cancel;
            }
            // A thread of its own may wait for the keyboard.
            let asked = tokio::task::spawn_blocking(move || ask(&question, margin)).await;
            match asked {
                Ok(Ok(answer)) => answer,
                _ => ElicitAnswer::Cancel,
            }
        }
    })
    .urls()
}

/// Whether somebody can be asked.
pub(crate) fn is_there(no_input: bool) -> bool {
    !no_input && io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Whether the person agrees: only a yes is one. `None` if nobody is there to say it.
pub(crate) fn agrees(question: &str) -> io::Result<Option<bool>> {
    if !is_there(false) {
        return Ok(None);
    }
    let mut out = io::stderr();
    write!(out, "{question} [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(Some(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")))
}

fn heading(question: &Question) -> String {
    format!("{} asks: {}", safe_line(question.server().display_name()), safe(question.message()))
}

fn ask(question: &Question, margin: &str) -> io::Result<ElicitAnswer> {
    // Standard error is not locked: others have something to say while the person thinks.
    let (mut input, mut out) = (io::stdin().lock(), io::stderr());
    writeln!(out, "{margin}{}", heading(question))?;
    let mut sheet = Sheet { input: &mut input, out: &mut out, margin };
    match question {
        Question::Form { schema, .. } => sheet.fill(schema),
        Question::Url { url, host, .. } => {
            writeln!(sheet.out, "{margin}  It wants you to visit {}", safe_line(host))?;
            writeln!(sheet.out, "{margin}  {}", safe_line(url))?;
            writeln!(sheet.out, "{margin}  Nothing is opened for you.")?;
            sheet.consent()
        }
        _ => Ok(ElicitAnswer::Decline),
    }
}

/// Shows what a server wants to ask the model, and answers with this text.
pub(crate) fn sampling(text: String) -> Sampling {
    Sampling::new(move |_| {
        let answer = CreateMessageResult::new("canned", SamplingContent::text(text.clone()));
        std::future::ready(Ok::<_, String>(answer.stop_reason("endTurn")))
    })
    .approve(move |question| {
        show(&question);
        note("  answered with --sample");
        std::future::ready(SamplingApproval::Allow)
    })
}

fn show(question: &SamplingQuestion) {
    note(&format!("{} wants to ask the model:", safe_line(question.server.display_name())));
    if let Some(system) = &question.params.system_prompt {
        note(&format!("  system: {}", safe(system)));
    }
    for message in &question.params.messages {
        for block in message.content.as_slice() {
            let text = match block {
                SamplingContent::Text(text) => safe(&text.text),
                SamplingContent::Image(image) => format!("({})", safe_line(&image.mime_type)),
                SamplingContent::Audio(audio) => format!("({})", safe_line(&audio.mime_type)),
                _ => "(a tool)".to_owned(),
            };
            note(&format!(
                "  {}: {text}",
                if message.role == contexture::model::Role::User { "user" } else { "model" }
            ));
        }
    }
}

/// The directories that servers may know of.
pub(crate) fn roots(directories: &[impl AsRef<Path>]) -> Result<Roots, String> {
    let mut roots = Roots::new();
    for directory in directories {
        let directory = directory.as_ref();
        let wrong = |error: &dyn std::fmt::Display| format!("--root {}: {error}", directory.display());
        let path = directory.canonicalize().map_err(|error| wrong(&error))?;
        let mut root = Root::new(file_uri(&path).ok_or_else(|| wrong(&"the path is not text"))?);
        root.name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        roots = roots.with(root).map_err(|error| wrong(&error))?;
    }
    Ok(roots)
}

fn file_uri(path: &Path) -> Option<String> {
    let mut uri = "file://".to_owned();
    for byte in path.to_str()?.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                uri.push(byte.into())
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    Some(uri)
}

#[cfg(test)]
mod tests {
    #[test]
    fn directories_become_uris() {
        let uri = super::file_uri("/srv/a b/ü?#".as_ref());
        assert_eq!(uri.as_deref(), Some("file:///srv/a%20b/%C3%BC%3F%23"));
    }
}
