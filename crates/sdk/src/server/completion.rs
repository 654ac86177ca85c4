//! Completion of arguments while a person types them.
//!
//! A completer proposes values for one argument of one prompt or template. It sees what has been typed and
//! what is known of the other arguments, and nothing that the caller may not see otherwise.

use std::collections::BTreeMap;
use std::future::Future;

use super::Context;
use super::operation::BoxFuture;
use crate::Result;
use crate::model::Completion;

/// What is being typed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Completing {
    /// Who asks.
    pub context: Context,
    /// What stands there so far.
    pub value: String,
    /// The other arguments that are known already.
    pub known: BTreeMap<String, String>,
}

/// Proposes values for an argument. Implemented for [`Choices`] and for async closures that return the
/// values in order of relevance.
pub trait Completer: Send + Sync + 'static {
    /// The proposals; at most 100 of them are sent.
    fn complete(&self, completing: Completing) -> BoxFuture<Result<Completion>>;
}

impl<F, Fut, S> Completer for F
where
    F: Fn(Completing) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Vec<S>>> + Send + 'static,
    S: Into<String>,
{
    fn complete(&self, completing: Completing) -> BoxFuture<Result<Completion>> {
        let work = self(completing);
        Box::pin(async move { Ok(Completion::new(work.await?)) })
    }
}

/// A fixed list to choose from.
#[derive(Debug, Clone)]
pub struct Choices(Vec<String>);

impl Choices {
    /// These values.
    pub fn new(values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(values.into_iter().map(Into::into).collect())
    }

    /// The values that fit what was typed, best first: those that begin with it, then those that contain
    /// it, then those that contain its letters in order.
    pub fn matching(&self, typed: &str) -> Vec<String> {
        let typed = typed.to_lowercase();
        let mut ranked: Vec<(u8, &String)> = self
            .0
            .iter()
            .filter_map(|value| rank(&value.to_lowercase(), &typed).map(|rank| (rank, value)))
            .collect();
        ranked.sort_by_key(|(rank, _)| *rank);
        ranked.into_iter().map(|(_, value)| value.clone()).collect()
    }
}

fn rank(value: &str, typed: &str) -> Option<u8> {
    if value.starts_with(typed) {
        return Some(0);
    }
    if value.contains(typed) {
        return Some(1);
    }
    let mut letters = value.chars();
    typed.chars().all(|wanted| letters.any(|letter| letter == wanted)).then_some(2)
}

impl Completer for Choices {
    fn complete(&self, completing: Completing) -> BoxFuture<Result<Completion>> {
        let matching = self.matching(&completing.value);
        Box::pin(std::future::ready(Ok(Completion::new(matching))))
    }
}

#[cfg(test)]
mod tests {
    use super::Choices;

    // covers: COMPL-SORTED, COMPL-FUZZY
    #[test]
    fn what_begins_with_the_typed_text_comes_first() {
        let choices = Choices::new(["trust", "rust", "ruby", "corrupt", "python"]);
        assert_eq!(choices.matching("Ru"), ["rust", "ruby", "trust", "corrupt"]);
        assert_eq!(choices.matching("pn"), ["python"]);
        assert_eq!(choices.matching("").len(), 5);
    }
}
