"""Tessera for Benchpark: strong, weak and throughput scaling of mini-apps.

Beside it common/cluster/ramble says how it runs.
"""

from benchpark.directives import variant
from benchpark.experiment import Experiment
from benchpark.programming_model import ProgrammingModel, ProgrammingModelType
from benchpark.scaling import Scaling, ScalingMode


class Tessera(
    Experiment,
    ProgrammingModel(
        ProgrammingModelType.Mpionly, ProgrammingModelType.Openmp, ProgrammingModelType.Cuda, ProgrammingModelType.Rocm
    ),
    Scaling(ScalingMode.Strong, ScalingMode.Weak, ScalingMode.Throughput),
):
    variant("workload", default="generated", values=("generated",), description="generated input of a size")
    variant("version", default="main", values=("main", "latest"), description="version of Tessera")
    variant("apps", default="dot", description="mini-apps, joined by commas")

    # Elements of a rank: 256 MiB of float for a CPU's, 1 GiB for a GPU's, past every cache.
    elements_of_cpu = 2**26
    elements_of_gpu = 2**28

    def compute_applications_section(self):
        on_gpu = self.spec.satisfies("+cuda") or self.spec.satisfies("+rocm")
        each = self.elements_of_gpu if on_gpu else self.elements_of_cpu
        if self.spec.satisfies("exec_mode=test"):
            each = 2**20

        # The names that Benchpark asks of every experiment are the ones that scale;
        # a size is that of all ranks together.
        self.add_experiment_variable("n_resources", 1, True)
        self.add_experiment_variable("total_problem_size", each, True)
        self.register_scaling_config(
            {
                ScalingMode.Strong: {
                    "n_resources": lambda var, itr, dim, scaling_factor: var.val(dim) * scaling_factor,
                    "total_problem_size": lambda var, itr, dim, scaling_factor: var.val(dim),
                },
                ScalingMode.Weak: {
                    "n_resources": lambda var, itr, dim, scaling_factor: var.val(dim) * scaling_factor,
                    "total_problem_size": lambda var, itr, dim, scaling_factor: var.val(dim) * scaling_factor,
                },
                ScalingMode.Throughput: {
                    "n_resources": lambda var, itr, dim, scaling_factor: var.val(dim),
                    "total_problem_size": lambda var, itr, dim, scaling_factor: var.val(dim) * scaling_factor,
                },
            }
        )
        self.set_required_variables(process_problem_size="{total_problem_size}/{n_resources}")

        self.add_experiment_variable("n_gpus" if on_gpu else "n_ranks", "{n_resources}", True)
        self.add_experiment_variable("n_threads_per_proc", 1, True)
        self.add_experiment_variable("n_threads", "{n_threads_per_proc}")
        self.add_experiment_variable("apps", self.spec.variants["apps"][0], True)
        self.add_experiment_variable("size_option", "--size")
        self.add_experiment_variable("size", "{total_problem_size}")
        # On one rank too: a curve is of one variant.
        self.add_experiment_variable("variant", "distributed")
        space = "cuda" if self.spec.satisfies("+cuda") else "hip" if on_gpu else "openmp"
        self.add_experiment_variable("space", "serial" if self.spec.satisfies("~openmp") and not on_gpu else space)

    def compute_package_section(self):
        self.add_package_spec(self.name, [f"tessera{self.determine_version()} +mpi"])
