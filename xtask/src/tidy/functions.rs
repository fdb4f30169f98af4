//! Checks that functions are short. Clippy's `too_many_lines` does not look into Yew components.

use std::collections::BTreeSet;

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, ItemFn, TraitItemFn};

use super::source::Source;

/// Maximum number of lines of code in a function's body.
///
/// As in clippy, blank lines and comments do not count: a line counts if it has a token between the braces of
/// the body. A string counts with all of its lines. Closures and nested functions count in the function that
/// contains them.
const LONGEST_FUNCTION_LINES: usize = 60;

/// A function, and the number of lines of code in its body.
#[derive(Debug, PartialEq, Eq)]
struct Function {
    name: String,
    lines: usize,
}

/// Adds a finding for each function that is too long.
pub(super) fn check(sources: &[Source], findings: &mut Vec<String>) {
    for source in sources.iter().filter(|source| !source.is_test) {
        for Function { name, lines } in functions(source) {
            if lines > LONGEST_FUNCTION_LINES {
                findings.push(format!(
                    "{}: {name} has {lines} lines, at most {LONGEST_FUNCTION_LINES}; split it",
                    source.name
                ));
            }
        }
    }
}

fn functions(source: &Source) -> Vec<Function> {
    let mut functions = Functions(Vec::new());
    functions.visit_file(&source.tree);
    functions.0
}

struct Functions(Vec<Function>);

impl Functions {
    fn add(&mut self, name: &Ident, body: &Block) {
        let mut lines = BTreeSet::new();
        for statement in &body.stmts {
            touched_lines(quote::ToTokens::to_token_stream(statement), &mut lines);
        }
        self.0.push(Function {
            name: name.to_string(),
            lines: lines.len(),
        });
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.add(&function.sig.ident, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.add(&function.sig.ident, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        if let Some(body) = &function.default {
            self.add(&function.sig.ident, body);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

fn touched_lines(tokens: TokenStream, lines: &mut BTreeSet<usize>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                lines.insert(group.span_open().start().line);
                lines.insert(group.span_close().end().line);
                touched_lines(group.stream(), lines);
            }
            token => lines.extend(token.span().start().line..=token.span().end().line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::parse_all;
    use super::{Function, check, functions};

    fn lengths(text: &str) -> Vec<(String, usize)> {
        let files = [("crates/a/src/lib.rs".to_owned(), text.to_owned())];
        let sources = parse_all(&files, &mut Vec::new());
        let functions = functions(&sources[0]).into_iter();
        functions
            .map(|Function { name, lines }| (name, lines))
            .collect()
    }

    #[test]
    fn lines_of_code_count() {
        let one = |lines| [("f".to_owned(), lines)];
        assert_eq!(lengths("fn f() {}"), one(0));
        assert_eq!(lengths("fn f() { g() }"), one(1));
        assert_eq!(
            lengths("fn f(\n) {\n  // why\n\n  g();\n  /* a\n  b */\n}"),
            one(1)
        );
        assert_eq!(
            lengths("fn f() {\n  let g = || {\n    a();\n  };\n}"),
            one(3)
        );
        assert_eq!(lengths("fn f() {\n  \"a\n\nb\"\n}"), one(3));
        assert_eq!(lengths("impl A {\n  fn f() {\n    a()\n  }\n}"), one(1));
        assert_eq!(
            lengths("trait A {\n  fn f() {\n    a()\n  }\n  fn g();\n}"),
            one(1)
        );
    }

    #[test]
    fn a_components_lines_count() {
        let text =
            "#[component]\nfn F() -> Html {\n  html! {\n    <A>\n      { b }\n\n    </A>\n  }\n}";
        assert_eq!(lengths(text), [("F".to_owned(), 5)]);
    }

    #[test]
    fn long_functions_are_findings() {
        let body = "  a();\n".repeat(61);
        let text = format!(
            "fn long() {{\n{body}}}\nfn short() {{}}\n#[cfg(test)]\nfn test() {{\n{body}}}"
        );
        let files = [("crates/a/src/lib.rs".to_owned(), text)];
        let mut findings = Vec::new();
        check(&parse_all(&files, &mut Vec::new()), &mut findings);
        assert_eq!(
            findings,
            ["crates/a/src/lib.rs: long has 61 lines, at most 60; split it"]
        );
    }
}
