#include "all_apps.hpp"

#include <tessera/driver/run_suite.hpp>

int main(int argc, char** argv) { return tessera::run_suite(tessera::all_apps(), argc, argv); }
