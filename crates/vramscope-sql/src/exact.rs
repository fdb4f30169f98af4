//! Whole numbers that are right or an error. DataFusion's own sums and products wrap around silently where 64 bits do not
//! hold them, and byte-seconds of a few hundred ranks are as large as that.
//!
//! A sum of whole numbers is a decimal, as in PostgreSQL, and always exact. A product beyond 64 bits is an error.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::DFSchema;
use datafusion::error::Result;
use datafusion::execution::FunctionRegistry as _;
use datafusion::functions_aggregate::sum::Sum;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ExprSchemable as _, GroupsAccumulator, Operator,
    ReversedUDAF, Signature, Volatility, binary_expr, cast,
};
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::ast::BinaryOperator;

/// A decimal that holds any whole number of 64 bits.
const WHOLE: DataType = DataType::Decimal128(20, 0);

/// Makes sums and products of a context exact.
pub(crate) fn make(context: &mut SessionContext) -> Result<()> {
    context.register_udaf(AggregateUDF::from(ExactSum::default()));
    context.register_expr_planner(Arc::new(CheckedProducts))
}

/// DataFusion's sum, of decimals where it would be of whole numbers.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ExactSum {
    signature: Signature,
    sum: Sum,
}

impl Default for ExactSum {
    fn default() -> Self {
        Self {
            signature: Signature::user_defined(Volatility::Immutable),
            sum: Sum::new(),
        }
    }
}

impl AggregateUDFImpl for ExactSum {
    fn name(&self) -> &str {
        self.sum.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        types
            .iter()
            .map(|kind| match kind {
                DataType::Dictionary(_, values) => self
                    .coerce_types(&[*values.clone()])
                    .map(|mut one| one.remove(0)),
                kind if kind.is_integer() => Ok(WHOLE),
                kind if kind.is_floating() => Ok(DataType::Float64),
                DataType::Null => Ok(DataType::Float64),
                kind => Ok(kind.clone()),
            })
            .collect()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.sum.return_type(types)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.sum.accumulator(args)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.sum.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.sum.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        self.sum.create_groups_accumulator(args)
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.sum.create_sliding_accumulator(args)
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}

/// Products of whole numbers are made as decimals, which hold them, and cast back, which fails where they are too large.
#[derive(Debug)]
struct CheckedProducts;

impl ExprPlanner for CheckedProducts {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        if expr.op != BinaryOperator::Multiply {
            return Ok(PlannerResult::Original(expr));
        }
        let kinds = [expr.left.get_type(schema)?, expr.right.get_type(schema)?];
        if !kinds.iter().all(DataType::is_integer) {
            return Ok(PlannerResult::Original(expr));
        }
        let kind = match kinds.iter().any(|kind| *kind == DataType::UInt64) {
            true => DataType::UInt64,
            false => DataType::Int64,
        };
        let product = binary_expr(
            cast(expr.left, WHOLE),
            Operator::Multiply,
            cast(expr.right, WHOLE),
        );
        Ok(PlannerResult::Planned(cast(product, kind)))
    }
}
