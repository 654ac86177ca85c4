//! People in front of a client: what they are asked, and what they say.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use contexture::client::{Builder, Client, ElicitAnswer, Elicitation, Question};
use contexture::model::ElicitValue;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::stage::until;

/// Somebody who says what they were told to say, one answer after the other.
#[derive(Clone)]
pub(crate) struct Person {
    asked: Arc<Mutex<Vec<Question>>>,
    answers: Arc<Mutex<VecDeque<ElicitAnswer>>>,
    /// How often they may still answer.
    speaks: Arc<Semaphore>,
}

impl Person {
    /// Says all of this at once when asked. Whoever is asked more often goes away.
    pub(crate) fn saying(answers: impl IntoIterator<Item = ElicitAnswer>) -> Self {
        let person = Self::silent(answers);
        person.speaks.add_permits(1000);
        person
    }

    /// Says nothing until they are told to [speak](Self::speak).
    pub(crate) fn silent(answers: impl IntoIterator<Item = ElicitAnswer>) -> Self {
        Self {
            asked: Arc::default(),
            answers: Arc::new(Mutex::new(answers.into_iter().collect())),
            speaks: Arc::new(Semaphore::new(0)),
        }
    }

    /// Gives the next answer.
    pub(crate) fn speak(&self) {
        self.speaks.add_permits(1);
    }

    /// What they were asked so far.
    pub(crate) fn questions(&self) -> Vec<Question> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The texts of it.
    pub(crate) fn messages(&self) -> Vec<String> {
        self.questions().iter().map(|question| question.message().to_owned()).collect()
    }

    pub(crate) async fn is_asked(&self, times: usize) {
        until(&format!("{times} questions"), || self.questions().len() >= times).await;
    }

    /// How a client asks them.
    pub(crate) fn elicitation(&self) -> Elicitation {
        let this = self.clone();
        Elicitation::new(move |question| {
            let this = this.clone();
            async move {
                this.asked.lock().unwrap_or_else(PoisonError::into_inner).push(question);
                this.speaks.acquire().await.expect("never closed").forget();
                let next = this.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                next.unwrap_or(ElicitAnswer::Cancel)
            }
        })
    }

    /// A client with this person in front of it.
    pub(crate) fn client(&self) -> Builder {
        Client::builder().elicitation(self.elicitation())
    }
}

/// A decision about something.
pub(crate) fn decides(word: &str) -> ElicitAnswer {
    ElicitAnswer::accept([("decision", word)])
}

/// A decision, with a text changed.
pub(crate) fn changes(fields: &[(&str, &str)]) -> ElicitAnswer {
    let decision = [("decision", "once")];
    ElicitAnswer::accept(decision.iter().chain(fields).map(|(name, text)| (*name, ElicitValue::from(*text))))
}

/// The fields of a form, as they are on the wire.
pub(crate) fn form(question: &Question) -> Value {
    match question {
        Question::Form { schema, .. } => serde_json::to_value(schema).expect("JSON"),
        other => panic!("no form: {other:?}"),
    }
}
