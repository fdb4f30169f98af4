//! Patterns of code paths: whole components, from the file's name upwards, and never beyond the package.
//!
//! `torch/optim/*.py` is any file in the folder `optim` of the package `torch`, wherever it is installed;
//! `*_optimizer.py` is any file with such a name; `deepspeed/runtime/**` is any file below that folder. Components
//! above `site-packages` or `dist-packages` depend on the machine and are ignored.

/// The folders into which packages are installed.
const INSTALLED: [&str; 2] = ["site-packages", "dist-packages"];

/// Most components of a path that are compared.
const MOST_PARTS: usize = 24;

/// The components of a file's path, its name first, up to the folder of installed packages.
pub(super) struct CodePath<'a>(Vec<&'a str>);

impl<'a> CodePath<'a> {
    pub(super) fn of(file: &'a str) -> Self {
        let parts = file.rsplit(['/', '\\']);
        let parts = parts.take_while(|part| !INSTALLED.contains(part));
        Self(parts.take(MOST_PARTS).collect())
    }

    /// Whether the path ends as a pattern says. `*` stands for any text in a component, `**` at the end for any file
    /// below.
    pub(super) fn fits(&self, pattern: &str) -> bool {
        match pattern.strip_suffix("/**") {
            Some(folder) => (1..self.0.len()).any(|above| ends_with(&self.0[above..], folder)),
            None => ends_with(&self.0, pattern),
        }
    }
}

fn ends_with(parts: &[&str], pattern: &str) -> bool {
    let mut parts = parts.iter();
    let mut wanted = pattern.rsplit('/');
    wanted.all(|wanted| parts.next().is_some_and(|part| is_like(part, wanted)))
}

/// Whether a component matches one of a pattern, in which `*` stands for any text.
fn is_like(part: &str, wanted: &str) -> bool {
    let mut pieces = wanted.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = part.strip_prefix(first) else {
        return false;
    };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        let Some(at) = rest.find(piece) else {
            return false;
        };
        rest = &rest[at + piece.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_of_the_path_s_end() {
        let fits = |file: &str, pattern: &str| CodePath::of(file).fits(pattern);
        let adam = "/home/me/venv/lib/python3.12/site-packages/torch/optim/adam.py";
        assert!(fits(adam, "torch/optim/*.py"));
        assert!(fits(adam, "torch/optim/adam*.py"));
        assert!(fits(adam, "adam.py"));
        assert!(fits("torch/optim/adam.py", "torch/optim/adam.py"));
        assert!(fits(
            r"C:\env\Lib\site-packages\torch\optim\adam.py",
            "torch/optim/*.py"
        ));
        assert!(!fits("/home/me/torch/optim/x/adam.py", "torch/optim/*.py"));
        assert!(!fits("/home/me/mytorch/optim/adam.py", "torch/optim/*.py"));
        assert!(!fits("/home/me/optim/model.py", "optim"));
        assert!(fits(
            "/x/dist-packages/deepspeed/runtime/zero/stage3.py",
            "deepspeed/runtime/**"
        ));
        assert!(!fits(
            "/x/deepspeed/runtime/site-packages/mine/a.py",
            "deepspeed/runtime/**"
        ));
        assert!(!fits("deepspeed/runtime", "deepspeed/runtime/**"));
        assert!(fits("/p/my_kv_cache_v2.py", "*kv_cache*.py"));
        assert!(fits("/p/kv_cache.py", "*kv_cache*.py"));
        assert!(!fits("/my_kv_cache_paper/train.py", "*kv_cache*.py"));
        assert!(!fits("/p/kv.py", "*kv_cache*.py"));
        assert!(fits("/p/bf16_optimizer.py", "*_optimizer.py"));
        assert!(!fits("/p/optimizers.py", "*_optimizer.py"));
    }
}
