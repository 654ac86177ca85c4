use contexture::Client;

use crate::exit::Failure;
use crate::options::{Whole, Words};

pub(super) async fn ping(_: Client, _: Words, _: &Whole) -> Result<(), Failure> {
    Err(Failure::usage("not built yet"))
}
