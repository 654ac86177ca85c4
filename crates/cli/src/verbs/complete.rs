//! `complete`: what an argument of a prompt or template could be, as the server proposes.

use std::collections::BTreeMap;

use contexture::Client;
use contexture::model::{Completion, Reference};
use serde::Serialize;

use super::print_each;
use crate::exit::Failure;
use crate::options::{Completing, Words};
use crate::terminal::note;
use crate::terminal::text::safe_line;

/// The result as the protocol has it.
#[derive(Serialize)]
struct Completed<'a> {
    completion: &'a Completion,
}

pub(super) async fn complete(
    client: Client,
    mut words: Words,
    completing: &Completing,
) -> Result<(), Failure> {
    let what = words.wanted("the prompt or template that is completed")?;
    let mut known = words.rest().iter().map(|word| argument(word)).collect::<Result<Vec<_>, _>>()?;
    let (name, typed) =
        known.pop().ok_or_else(|| Failure::usage("which argument? NAME= and what is typed of it"))?;
    let known: BTreeMap<String, String> = known.into_iter().collect();
    let completion = client.complete(reference(&what), name, typed, known).await?;
    print_each(completing.target.format, &Completed { completion: &completion }, &completion.values, || {
        Ok(completion.values.iter().map(|value| safe_line(value) + "\n").collect())
    })?;
    if completion.has_more == Some(true) {
        let of = completion.total.map(|total| format!(" of {total}")).unwrap_or_default();
        note(&format!("{}{of} are shown; the server has more", completion.values.len()));
    }
    Ok(())
}

/// Templates are URIs, and names of prompts are not.
fn reference(what: &str) -> Reference {
    if what.contains("://") || what.contains('{') {
        Reference::resource(what)
    } else {
        Reference::prompt(what)
    }
}

fn argument(word: &str) -> Result<(String, String), Failure> {
    match word.split_once('=') {
        Some((name, text)) if !name.is_empty() => Ok((name.to_owned(), text.to_owned())),
        _ => Err(Failure::usage(format!("{word}: arguments are NAME=TEXT"))),
    }
}
