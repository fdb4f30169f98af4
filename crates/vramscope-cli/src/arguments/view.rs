//! The views of the page, for commands that show them.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use vramscope_view::views::ViewKind;

/// Parses the name of one of these views.
pub(crate) fn parse_view<const N: usize>(
    views: [ViewKind; N],
) -> impl TypedValueParser<Value = ViewKind> {
    let value = |view: ViewKind| {
        PossibleValue::new(view.name())
            .aliases(view.former_name())
            .help(view.question())
    };
    PossibleValuesParser::new(views.map(value))
        .map(|name| ViewKind::named(&name).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_view_of_the_page_has_a_name_and_a_former_one_is_read() {
        let argument = clap::Arg::new("view").value_parser(parse_view(ViewKind::ALL));
        let former = ("state", ViewKind::Allocator);
        for (name, view) in ViewKind::ALL
            .map(|view| (view.name(), view))
            .into_iter()
            .chain([former])
        {
            let command = clap::Command::new("html").arg(argument.clone());
            let matches = command.try_get_matches_from(["html", name]).unwrap();
            assert_eq!(matches.get_one("view"), Some(&view));
        }
    }
}
