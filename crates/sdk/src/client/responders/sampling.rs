//! A server asks the model.
//!
//! A person should stand behind every such request. So without an approval hook every request is denied,
//! unless the application says in so many words that it approves of all of them. What is said is never
//! logged.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::NoAnswer;
use crate::client::session::{ServerIdentity, Session};
use crate::engine::Allowance;
use crate::model::{CreateMessageParams, CreateMessageResult, SamplingContent};
use crate::revision::{Lower, Rules};

type Answering = std::result::Result<CreateMessageResult, String>;
type Model = Arc<dyn Fn(SamplingQuestion) -> BoxFuture<'static, Answering> + Send + Sync>;
type Approve = Arc<dyn Fn(SamplingQuestion) -> BoxFuture<'static, SamplingApproval> + Send + Sync>;
type Review =
    Arc<dyn Fn(SamplingQuestion, CreateMessageResult) -> BoxFuture<'static, SamplingReview> + Send + Sync>;

/// What a server asks the model, complete.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SamplingQuestion {
    /// Who asks.
    pub server: ServerIdentity,
    /// What it asks.
    pub params: CreateMessageParams,
}

/// What is decided before the model is asked.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum SamplingApproval {
    /// Ask it.
    Allow,
    /// Ask it this instead.
    Edit(Box<CreateMessageParams>),
    /// Do not ask; the server is told so.
    Deny(String),
}

/// What is decided before the server sees the answer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum SamplingReview {
    /// Let it see the answer.
    Deliver,
    /// Let it see this instead.
    Edit(Box<CreateMessageResult>),
    /// Do not let it see anything; it is told so.
    Deny(String),
}

/// How a client answers `sampling/createMessage`.
#[derive(Clone)]
pub struct Sampling {
    model: Model,
    approve: Option<Approve>,
    review: Option<Review>,
    tools: bool,
    max_tokens: Option<u64>,
    time: Option<Duration>,
    per_second: u32,
    rate: Arc<Mutex<Allowance>>,
    started: Instant,
}

impl Sampling {
    /// Answers with a model. The closure may ignore preferences and system prompt as it sees fit; it must
    /// name the model that it used. Context of servers is never added here: that, too, is for the closure.
    pub fn new<F, E>(model: impl Fn(SamplingQuestion) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = std::result::Result<CreateMessageResult, E>> + Send + 'static,
        E: fmt::Display,
    {
        Self {
            model: Arc::new(move |question| {
                let answer = model(question);
                Box::pin(async move { answer.await.map_err(|error| error.to_string()) })
            }),
            approve: None,
            review: None,
            tools: false,
            max_tokens: None,
            time: None,
            per_second: u32::MAX,
            rate: Arc::new(Mutex::new(Allowance::new(u32::MAX))),
            started: Instant::now(),
        }
    }

    /// Decides about every request before the model is asked.
    #[must_use]
    pub fn approve<F>(mut self, approve: impl Fn(SamplingQuestion) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = SamplingApproval> + Send + 'static,
    {
        self.approve = Some(Arc::new(move |question| Box::pin(approve(question))));
        self
    }

    /// Approves of every request. Say it only if someone else decides, or nothing is at stake.
    #[must_use]
    pub fn approve_all(self) -> Self {
        self.approve(|_| std::future::ready(SamplingApproval::Allow))
    }

    /// Decides about every answer before the server sees it.
    #[must_use]
    pub fn review<F>(
        mut self,
        review: impl Fn(SamplingQuestion, CreateMessageResult) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = SamplingReview> + Send + 'static,
    {
        self.review = Some(Arc::new(move |question, result| Box::pin(review(question, result))));
        self
    }

    /// Declares that tools may be part of a request.
    #[must_use]
    pub fn tools(mut self) -> Self {
        self.tools = true;
        self
    }

    /// Never asks for more tokens than this, whatever the server wants.
    #[must_use]
    pub fn max_tokens(mut self, max_tokens: u64) -> Self {
        self.max_tokens = Some(max_tokens);
        self
    }

    /// Gives up on the model after this time.
    #[must_use]
    pub fn time(mut self, time: Duration) -> Self {
        self.time = Some(time);
        self
    }

    /// Refuses more requests than this in a second. Every server is counted by itself.
    #[must_use]
    pub fn per_second(mut self, rate: u32) -> Self {
        self.per_second = rate;
        self
    }

    pub(in crate::client) fn for_one_server(&self) -> Self {
        let rate = Arc::new(Mutex::new(Allowance::new(self.per_second)));
        Self { rate, started: Instant::now(), ..self.clone() }
    }

    pub(in crate::client) fn takes_tools(&self) -> bool {
        self.tools
    }

    pub(super) fn check(
        &self,
        params: &CreateMessageParams,
        rules: &Rules,
    ) -> std::result::Result<(), String> {
        let has_tools = params.tools.is_some() || params.tool_choice.is_some();
        if has_tools && !(self.tools && rules.has_sampling_tools) {
            return Err("sampling with tools was not declared".into());
        }
        let mut blocks = params.messages.iter().flat_map(|message| message.content.as_slice());
        if !rules.has_audio && blocks.any(|block| matches!(block, SamplingContent::Audio(_))) {
            return Err("this revision has no audio".into());
        }
        Ok(())
    }

    pub(super) async fn answer(
        &self,
        session: &Session,
        params: CreateMessageParams,
    ) -> std::result::Result<CreateMessageResult, NoAnswer> {
        if !self.rate.lock().unwrap_or_else(PoisonError::into_inner).take(self.started.elapsed()) {
            return Err(NoAnswer::TooOften);
        }
        let mut question = SamplingQuestion { server: session.server.clone(), params };
        question.params = self.approved(&question).await?;
        if let Some(limit) = self.max_tokens {
            question.params.max_tokens = question.params.max_tokens.min(limit);
        }
        let asked = (self.model)(question.clone());
        let result = match self.time {
            Some(time) => tokio::time::timeout(time, asked)
                .await
                .map_err(|_| NoAnswer::Failed("the model did not answer in time".into()))?,
            None => asked.await,
        };
        let result = result.map_err(NoAnswer::Failed)?;
        let mut result = self.reviewed(question, result).await?;
        result.lower(session.rules);
        Ok(result)
    }

    async fn approved(
        &self,
        question: &SamplingQuestion,
    ) -> std::result::Result<CreateMessageParams, NoAnswer> {
        let Some(approve) = &self.approve else {
            return Err(NoAnswer::Denied("sampling is not approved by this client".into()));
        };
        match approve(question.clone()).await {
            SamplingApproval::Allow => Ok(question.params.clone()),
            SamplingApproval::Edit(params) => Ok(*params),
            SamplingApproval::Deny(reason) => Err(NoAnswer::Denied(reason)),
        }
    }

    async fn reviewed(
        &self,
        question: SamplingQuestion,
        result: CreateMessageResult,
    ) -> std::result::Result<CreateMessageResult, NoAnswer> {
        let Some(review) = &self.review else { return Ok(result) };
        match review(question, result.clone()).await {
            SamplingReview::Deliver => Ok(result),
            SamplingReview::Edit(result) => Ok(*result),
            SamplingReview::Deny(reason) => Err(NoAnswer::Denied(reason)),
        }
    }
}

impl fmt::Debug for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sampling").field("tools", &self.tools).finish_non_exhaustive()
    }
}
