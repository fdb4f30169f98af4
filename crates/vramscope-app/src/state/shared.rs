//! Large values that are compared by pointer.

use std::ops::Deref;
use std::rc::Rc;

/// A shared value that never changes, such as a worker's answer. Two are equal only if they are the same one, so
/// comparing costs nothing however large they are.
#[derive(Debug)]
pub struct Shared<T>(Rc<T>);

impl<T> Shared<T> {
    pub fn new(value: T) -> Self {
        Self(Rc::new(value))
    }

    /// The value itself; `None` if there is another clone.
    pub fn into_inner(self) -> Option<T> {
        Rc::into_inner(self.0)
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
