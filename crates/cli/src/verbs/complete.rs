use contexture::Client;

use crate::exit::Failure;
use crate::options::{Completing, Words};

pub(super) async fn complete(_: Client, _: Words, _: &Completing) -> Result<(), Failure> {
    Err(Failure::usage("not built yet"))
}
