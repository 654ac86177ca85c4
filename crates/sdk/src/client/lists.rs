//! Lists, page by page or whole.
//!
//! Cursors are passed back as they came and mean nothing to us. A server that never ends a list is
//! stopped by number of pages, number of items and time; what came until then is not lost.

use std::fmt;

use serde::de::DeserializeOwned;

use super::Client;
use super::call::Call;
use super::payload::Payload;
use super::rounds::decode;
use super::tools::KnownTools;
use crate::model::{
    Cursor, Items, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    Method, Prompt, Resource, ResourceTemplate, Tool,
};
use crate::{Error, Result};

/// A list that could not be completed.
#[derive(Debug)]
pub struct Partial<T> {
    /// What came until then.
    pub items: Vec<T>,
    /// Why there is not more.
    pub reason: Error,
}

impl<T> fmt::Display for Partial<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "only {} items could be listed: {}", self.items.len(), self.reason)
    }
}

impl<T: fmt::Debug> std::error::Error for Partial<T> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.reason)
    }
}

impl<T> From<Partial<T>> for Error {
    fn from(partial: Partial<T>) -> Self {
        partial.reason
    }
}

/// One page of a list.
trait Page: DeserializeOwned + Send + 'static {
    type Item;
    const METHOD: Method;
    fn into_parts(self) -> (Items<Self::Item>, Option<Cursor>);
    fn learn(&mut self, _client: &Client) {}
}

macro_rules! page {
    ($page:ty, $item:ty, $method:ident, $field:ident $(, $learn:item)?) => {
        impl Page for $page {
            type Item = $item;
            const METHOD: Method = Method::$method;
            fn into_parts(self) -> (Items<$item>, Option<Cursor>) {
                (self.$field, self.next_cursor)
            }
            $($learn)?
        }
    };
}

page!(
    ListToolsResult,
    Tool,
    ToolsList,
    tools,
    fn learn(&mut self, client: &Client) {
        if client.live().mirrors() {
            KnownTools::drop_unfit(&mut self.tools);
        }
        client.hub().tools.learn(&self.tools);
    }
);
page!(
    ListPromptsResult,
    Prompt,
    PromptsList,
    prompts,
    fn learn(&mut self, client: &Client) {
        client.hub().prompts.learn(&self.prompts);
    }
);
page!(ListResourcesResult, Resource, ResourcesList, resources);
page!(ListResourceTemplatesResult, ResourceTemplate, ResourcesTemplatesList, resource_templates);

impl Client {
    /// All tools that the server offers to the model.
    pub async fn tools(&self) -> Result<Vec<Tool>, Partial<Tool>> {
        self.all::<ListToolsResult>().await
    }

    /// All prompts.
    pub async fn prompts(&self) -> Result<Vec<Prompt>, Partial<Prompt>> {
        self.all::<ListPromptsResult>().await
    }

    /// All resources that are listed; there may be more behind templates.
    pub async fn resources(&self) -> Result<Vec<Resource>, Partial<Resource>> {
        self.all::<ListResourcesResult>().await
    }

    /// All resource templates.
    pub async fn resource_templates(&self) -> Result<Vec<ResourceTemplate>, Partial<ResourceTemplate>> {
        self.all::<ListResourceTemplatesResult>().await
    }

    /// One page of tools; the first without a cursor.
    pub fn tools_page(&self, cursor: Option<&str>) -> Call<ListToolsResult> {
        self.page(cursor)
    }

    /// One page of prompts.
    pub fn prompts_page(&self, cursor: Option<&str>) -> Call<ListPromptsResult> {
        self.page(cursor)
    }

    /// One page of resources.
    pub fn resources_page(&self, cursor: Option<&str>) -> Call<ListResourcesResult> {
        self.page(cursor)
    }

    /// One page of resource templates.
    pub fn resource_templates_page(&self, cursor: Option<&str>) -> Call<ListResourceTemplatesResult> {
        self.page(cursor)
    }

    fn page<P: Page>(&self, cursor: Option<&str>) -> Call<P> {
        let payload = Payload::new().with_some("cursor", cursor.as_ref());
        // The first page and the page at the empty cursor are different pages.
        let key = cursor.map_or_else(String::new, |cursor| format!("={cursor}"));
        Call::new(self, P::METHOD, payload, |client, _, result| {
            let mut page: P = decode(P::METHOD.as_str(), result)?;
            page.learn(client);
            Ok(page)
        })
        .cached(key)
    }

    /// The tools are not what they were when they were listed.
    pub(super) async fn learn_tools_anew(&self) -> Result<()> {
        self.hub().cache.forget(Method::ToolsList);
        self.hub().tools.forget();
        self.tools().await?;
        Ok(())
    }

    async fn all<P: Page>(&self) -> Result<Vec<P::Item>, Partial<P::Item>> {
        let mut items = Vec::new();
        let time = self.policy().list_time;
        match self.live().link.in_time(time, self.collect::<P>(&mut items)).await {
            Some(Ok(())) => Ok(items),
            Some(Err(reason)) => Err(Partial { items, reason }),
            None => Err(Partial { items, reason: Error::Timeout(time) }),
        }
    }

    async fn collect<P: Page>(&self, items: &mut Vec<P::Item>) -> Result<()> {
        let policy = self.policy();
        let mut cursor: Option<Cursor> = None;
        for _ in 0..policy.list_pages {
            let (page, next) = self.page::<P>(cursor.as_deref()).await?.into_parts();
            if page.dropped() > 0 {
                let (dropped, reasons) = (page.dropped(), page.reasons());
                tracing::warn!(method = P::METHOD.as_str(), dropped, ?reasons, "malformed items");
            }
            let room = policy.list_items - items.len();
            let over = page.len() > room;
            items.extend(page.into_iter().take(room));
            if over {
                return Err(Error::TooMuch(format!("the list has more than {} items", policy.list_items)));
            }
            let Some(next) = next else { return Ok(()) };
            // A cursor that comes again is no proof of a circle: servers may keep the position themselves.
            cursor = Some(next);
        }
        Err(Error::TooMuch(format!("the list has more than {} pages", policy.list_pages)))
    }
}
